package interop;

import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.server.McpServer;
import io.modelcontextprotocol.server.McpServerFeatures.SyncToolSpecification;
import io.modelcontextprotocol.server.transport.StdioServerTransportProvider;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import io.modelcontextprotocol.spec.McpSchema.ServerCapabilities;
import io.modelcontextprotocol.spec.McpSchema.Tool;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.zip.GZIPInputStream;
import tools.jackson.databind.json.JsonMapper;

/**
 * The companion server `jobs` as a host runs it, over stdio: the two tools that the skill names, as the registry has
 * them registered, among 98 of a real recruiting suite. It only says what it was asked.
 */
public final class ToolServer {

    static final String ID = "jobs";
    static final int SIZE = 100;
    private static final List<String> OURS = List.of("search_jobs", "get_job");

    private ToolServer() {}

    public static void main(String[] arguments) throws Exception {
        List<SyncToolSpecification> tools = new ArrayList<>();
        for (Map<String, Object> definition : definitions(Path.of(arguments[0]))) tools.add(specification(definition));
        McpServer.sync(new StdioServerTransportProvider(McpJsonDefaults.getMapper()))
                .serverInfo(ID, "1.0.0")
                .capabilities(ServerCapabilities.builder().tools(false).build())
                .tools(tools)
                .build();
    }

    /** How a host starts this program. */
    static List<String> command() {
        return List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-classpath",
                System.getProperty("java.class.path"),
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
                ToolServer.class.getName(),
                System.getProperty("tools"));
    }

    static Map<String, String> environment() {
        return Map.of("REGISTRY", System.getenv("REGISTRY"));
    }

    static List<Map<String, Object>> definitions(Path recorded) throws IOException, InterruptedException {
        Stage stage = Stage.fromEnvironment();
        List<Map<String, Object>> definitions = new ArrayList<>();
        for (String name : OURS) definitions.add(registered(stage, name));
        try (BufferedReader lines = new BufferedReader(
                new InputStreamReader(new GZIPInputStream(Files.newInputStream(recorded)), StandardCharsets.UTF_8))) {
            lines.lines()
                    .map(line -> Json.object(new JsonMapper().readValue(line, Map.class)))
                    .filter(tool -> ((String) tool.get("name")).startsWith("hire_"))
                    .limit(SIZE - OURS.size())
                    .forEach(definitions::add);
        }
        return definitions;
    }

    private static Map<String, Object> registered(Stage stage, String tool) throws IOException, InterruptedException {
        URI address = URI.create(
                stage.origin() + "/api/v1/namespaces/" + stage.namespace() + "/servers/" + ID + "/tools/" + tool);
        String answer = HttpClient.newHttpClient()
                .send(HttpRequest.newBuilder(address).build(), HttpResponse.BodyHandlers.ofString())
                .body();
        return Json.object(
                Json.object(new JsonMapper().readValue(answer, Map.class)).get("tool"));
    }

    private static SyncToolSpecification specification(Map<String, Object> definition) {
        String name = (String) definition.get("name");
        Tool tool = Tool.builder(name, Json.object(definition.get("inputSchema")))
                .description((String) definition.get("description"))
                .build();
        return SyncToolSpecification.builder()
                .tool(tool)
                .callHandler((exchange, request) -> CallToolResult.builder()
                        .addTextContent(
                                name + " was called with " + new JsonMapper().writeValueAsString(request.arguments()))
                        .build())
                .build();
    }
}
