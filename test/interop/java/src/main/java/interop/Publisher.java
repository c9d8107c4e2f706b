package interop;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

/** Publishes a skill of one file through the registry's API, as somebody else would while a host is connected. */
final class Publisher {

    private final Stage stage;

    Publisher(Stage stage) {
        this.stage = stage;
    }

    /** Says when it was made: bytes that were published already would change nothing, and tell nobody. */
    void publish(String name, String description) throws IOException, InterruptedException {
        String text = "---\nname: " + name + "\ndescription: \"" + description + "\"\nmetadata:\n  made: \""
                + Instant.now() + "\"\n---\n# Steps\n";
        URI address = URI.create(stage.origin() + "/api/v1/namespaces/" + stage.namespace() + "/skills");
        HttpRequest request = HttpRequest.newBuilder(address)
                .header("authorization", "Bearer " + stage.publisherToken())
                .header("content-type", "application/zip")
                .POST(HttpRequest.BodyPublishers.ofByteArray(zip(name + "/SKILL.md", text)))
                .build();
        HttpResponse<String> response = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
        Check.that(response.statusCode() == 201, "publish: " + response.statusCode() + " " + response.body());
    }

    private static byte[] zip(String path, String text) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ZipOutputStream zip = new ZipOutputStream(bytes)) {
            zip.putNextEntry(new ZipEntry(path));
            zip.write(text.getBytes(StandardCharsets.UTF_8));
        }
        return bytes.toByteArray();
    }
}
