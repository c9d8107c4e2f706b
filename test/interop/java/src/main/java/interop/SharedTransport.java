package interop;

import io.modelcontextprotocol.client.McpAsyncClient;
import io.modelcontextprotocol.json.TypeRef;
import io.modelcontextprotocol.spec.McpClientTransport;
import io.modelcontextprotocol.spec.McpError;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCMessage;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCRequest;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCResponse;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Function;
import reactor.core.publisher.Mono;
import reactor.core.publisher.MonoSink;

/**
 * A transport that a client and its host share. `McpSyncClient` keeps its session to itself and has no method for a
 * request that it does not know, but the transport below is public: here requests of our own go out on the same
 * connection and session, and their answers are taken out of the stream before the client sees them.
 */
final class SharedTransport implements McpClientTransport {

    private final McpClientTransport inner;
    private final Map<Object, MonoSink<JSONRPCResponse>> waiting = new ConcurrentHashMap<>();
    private volatile Throwable problem;

    SharedTransport(McpClientTransport inner) {
        this.inner = inner;
    }

    Throwable problem() {
        return problem;
    }

    /** Usable once the client is initialized; `protocolVersion` is what it negotiated. */
    SkillRequests requests(String protocolVersion) {
        return (method, params) -> request(method, params)
                .contextWrite(context -> context.put(McpAsyncClient.NEGOTIATED_PROTOCOL_VERSION, protocolVersion))
                .timeout(Duration.ofSeconds(20))
                .block();
    }

    private Mono<Map<String, Object>> request(String method, Map<String, Object> params) {
        String id = "host-" + UUID.randomUUID();
        return Mono.deferContextual(context -> Mono.<JSONRPCResponse>create(sink -> {
                    waiting.put(id, sink);
                    inner.sendMessage(new JSONRPCRequest(method, id, params))
                            .contextWrite(context)
                            .subscribe(done -> {}, sink::error);
                }))
                .doFinally(end -> waiting.remove(id))
                .map(response -> {
                    if (response.error() != null) throw new McpError(response.error());
                    return inner.unmarshalFrom(response.result(), new TypeRef<Map<String, Object>>() {});
                });
    }

    @Override
    public Mono<Void> connect(Function<Mono<JSONRPCMessage>, Mono<JSONRPCMessage>> handler) {
        return inner.connect(messages -> handler.apply(messages.filter(message -> !isOurs(message))));
    }

    private boolean isOurs(JSONRPCMessage message) {
        if (!(message instanceof JSONRPCResponse response) || response.id() == null) return false;
        MonoSink<JSONRPCResponse> sink = waiting.remove(response.id());
        if (sink != null) sink.success(response);
        return sink != null;
    }

    @Override
    public void setExceptionHandler(Consumer<Throwable> handler) {
        inner.setExceptionHandler(found -> {
            problem = found;
            handler.accept(found);
        });
    }

    @Override
    public Mono<Void> sendMessage(JSONRPCMessage message) {
        return inner.sendMessage(message);
    }

    @Override
    public <T> T unmarshalFrom(Object data, TypeRef<T> type) {
        return inner.unmarshalFrom(data, type);
    }

    @Override
    public List<String> protocolVersions() {
        return inner.protocolVersions();
    }

    @Override
    public Mono<Void> closeGracefully() {
        return inner.closeGracefully();
    }
}
