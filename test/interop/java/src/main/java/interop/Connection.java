package interop;

import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.McpSyncClient;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.spec.McpSchema.BlobResourceContents;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import io.modelcontextprotocol.spec.McpSchema.InitializeResult;
import io.modelcontextprotocol.spec.McpSchema.ReadResourceRequest;
import io.modelcontextprotocol.spec.McpSchema.ResourceContents;
import io.modelcontextprotocol.spec.McpSchema.TextResourceContents;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;

/** One connection to a registry by the SDK's client of the 2025 versions. */
final class Connection implements AutoCloseable {

    private final SharedTransport transport;
    private final InitializeResult initialized;
    final McpSyncClient client;

    Connection(String origin, String endpoint) {
        this(origin, endpoint, spec -> spec);
    }

    Connection(String origin, String endpoint, UnaryOperator<McpClient.SyncSpec> listeners) {
        transport = new SharedTransport(HttpClientStreamableHttpTransport.builder(origin)
                .endpoint(endpoint)
                .build());
        client = listeners
                .apply(McpClient.sync(transport).requestTimeout(Duration.ofSeconds(20)))
                .build();
        initialized = client.initialize();
    }

    String era() {
        return initialized.protocolVersion();
    }

    /** What went wrong on the stream, of which the SDK tells its caller nothing; null when nothing did. */
    Throwable problem() {
        return transport.problem();
    }

    /** For methods that the client does not have, over the same session. */
    SkillRequests requests() {
        return transport.requests(era());
    }

    ListedTools tools() {
        return new ListedTools(client.listTools().tools().stream()
                .map(tool -> new ListedTools.Listed(tool.name(), tool.description(), tool.inputSchema()))
                .toList());
    }

    /** The structured content of an answer that is no error. */
    Map<String, Object> call(String tool, Map<String, Object> arguments) {
        CallToolResult result = client.callTool(
                CallToolRequest.builder(tool).arguments(arguments).build());
        Check.that(!Boolean.TRUE.equals(result.isError()), tool + ": " + result.content());
        return Json.object(result.structuredContent());
    }

    byte[] read(String uri, Manifest manifest) throws NoSuchAlgorithmException {
        List<ResourceContents> contents =
                client.readResource(ReadResourceRequest.builder(uri).build()).contents();
        Check.equal(1, contents.size(), "contents of " + uri);
        Check.equal(uri, contents.get(0).uri(), "address of the contents");
        String text = contents.get(0) instanceof TextResourceContents found ? found.text() : null;
        String blob = contents.get(0) instanceof BlobResourceContents found ? found.blob() : null;
        return manifest.verified(uri, text, blob);
    }

    @Override
    public void close() {
        client.closeGracefully();
    }
}
