import java.io.ByteArrayOutputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

/** Publishes a skill folder under the version of its project. Run as a source file: there is nothing to compile. */
class PublishSkill {
    public static void main(String[] arguments) throws Exception {
        Path folder = Path.of(arguments[0]);
        String namespace = System.getenv("SKILL_NAMESPACE");
        URI address = URI.create(System.getenv("REGISTRY") + "/api/v1/namespaces/" + namespace
            + "/skills?path=" + folder.getFileName() + "&version=" + arguments[1]);
        HttpRequest request = HttpRequest.newBuilder(address)
            .timeout(Duration.ofMinutes(1))
            .header("authorization", "Bearer " + System.getenv("SKILL_TOKEN"))
            .header("content-type", "application/zip")
            .POST(HttpRequest.BodyPublishers.ofByteArray(zip(folder)))
            .build();
        HttpResponse<String> answer = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
        System.out.println(answer.statusCode() + " " + answer.body());
        // 201: published. 200: these bytes are published already. All else fails the build.
        if (answer.statusCode() / 100 != 2) System.exit(1);
    }

    private static byte[] zip(Path folder) throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ZipOutputStream zip = new ZipOutputStream(bytes); var files = Files.walk(folder)) {
            List<Path> sorted = files.filter(Files::isRegularFile).sorted().toList();
            for (Path file : sorted) {
                zip.putNextEntry(new ZipEntry(folder.relativize(file).toString().replace('\\', '/')));
                zip.write(Files.readAllBytes(file));
                zip.closeEntry();
            }
        }
        return bytes.toByteArray();
    }
}
