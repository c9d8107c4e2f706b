package interop;

import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.json.TypeRef;
import io.modelcontextprotocol.spec.McpClientSession;
import io.modelcontextprotocol.spec.McpSchema;
import java.time.Duration;
import java.util.Map;
import java.util.function.Function;

/**
 * The class below the SDK's clients, which is public and takes any method. It is the shorter way where a host does not
 * mind a second session beside that of its `McpSyncClient`; the handshake is its own.
 */
final class OwnSession implements AutoCloseable {

    private final HttpClientStreamableHttpTransport transport;
    private final McpClientSession session;

    OwnSession(String origin, String endpoint) {
        transport = HttpClientStreamableHttpTransport.builder(origin)
                .endpoint(endpoint)
                .build();
        session = new McpClientSession(Duration.ofSeconds(20), transport, Map.of(), Map.of(), Function.identity());
        McpSchema.InitializeRequest hello = McpSchema.InitializeRequest.builder(
                        "2025-11-25",
                        McpSchema.ClientCapabilities.builder().build(),
                        McpSchema.Implementation.builder("java-host", "1.0.0").build())
                .build();
        session.sendRequest("initialize", hello, new TypeRef<McpSchema.InitializeResult>() {})
                .block();
        session.sendNotification("notifications/initialized", null).block();
    }

    SkillRequests requests() {
        return SkillRequests.over(session);
    }

    @Override
    public void close() {
        session.closeGracefully().then(transport.closeGracefully()).block();
    }
}
