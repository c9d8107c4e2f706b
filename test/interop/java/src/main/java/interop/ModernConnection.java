package interop;

import io.modelcontextprotocol.modern.JsonRpc.JSONRPCRequest;
import io.modelcontextprotocol.modern.JsonRpc.JSONRPCResponse;
import io.modelcontextprotocol.modern.McpSchema.BlobResourceContents;
import io.modelcontextprotocol.modern.McpSchema.CallToolResult;
import io.modelcontextprotocol.modern.McpSchema.DiscoverResult;
import io.modelcontextprotocol.modern.McpSchema.Implementation;
import io.modelcontextprotocol.modern.McpSchema.ResourceContents;
import io.modelcontextprotocol.modern.McpSchema.TextResourceContents;
import io.modelcontextprotocol.modern.client.McpClient;
import io.modelcontextprotocol.modern.client.McpSyncClient;
import io.modelcontextprotocol.modern.client.transport.HttpClientMcpTransport;
import io.modelcontextprotocol.modern.client.transport.McpTransportRequest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/** The SDK's client of 2026-07-28, which is stateless: there is no session to share, only a transport. */
final class ModernConnection {

    static final String ERA = "2026-07-28";

    private final HttpClientMcpTransport transport;
    final McpSyncClient client;
    final DiscoverResult discovered;

    ModernConnection(String origin, String endpoint) {
        transport = HttpClientMcpTransport.builder(origin + endpoint).build();
        client = McpClient.sync(transport)
                .clientInfo(Implementation.builder("java-host", "1.0.0").build())
                .roundTimeout(Duration.ofSeconds(20))
                .build();
        discovered = client.discover();
    }

    /** For methods that the client does not have: `exchange` takes any request. */
    SkillRequests requests() {
        return (method, params) -> {
            Map<String, Object> all = new HashMap<>(params);
            all.put(
                    "_meta",
                    Map.of(
                            "io.modelcontextprotocol/protocolVersion",
                            ERA,
                            "io.modelcontextprotocol/clientCapabilities",
                            Map.of()));
            JSONRPCRequest request =
                    new JSONRPCRequest(method, UUID.randomUUID().toString(), all);
            JSONRPCResponse response = transport
                    .exchange(McpTransportRequest.builder(request, ERA)
                            .roundTimeout(Duration.ofSeconds(20))
                            .build())
                    .ofType(JSONRPCResponse.class)
                    .blockLast();
            if (response.error() != null) throw new IllegalStateException(method + ": " + response.error());
            return Json.object(response.result());
        };
    }

    ListedTools tools() {
        return new ListedTools(client.listTools().list().tools().stream()
                .map(tool -> new ListedTools.Listed(tool.name(), tool.description(), tool.inputSchema()))
                .toList());
    }

    Map<String, Object> call(String tool, Map<String, Object> arguments) {
        CallToolResult result = client.tool(tool).arguments(arguments).call();
        Check.that(!Boolean.TRUE.equals(result.isError()), tool + ": " + result.content());
        return Json.object(result.structuredContent());
    }

    byte[] read(String uri, Manifest manifest) throws NoSuchAlgorithmException {
        List<ResourceContents> contents = client.resource(uri).read().contents();
        Check.equal(1, contents.size(), "contents of " + uri);
        Check.equal(uri, contents.get(0).uri(), "address of the contents");
        String text = contents.get(0) instanceof TextResourceContents found ? found.text() : null;
        String blob = contents.get(0) instanceof BlobResourceContents found ? found.blob() : null;
        return manifest.verified(uri, text, blob);
    }
}
