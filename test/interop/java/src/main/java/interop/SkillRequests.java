package interop;

import io.modelcontextprotocol.json.TypeRef;
import io.modelcontextprotocol.spec.McpSession;
import java.util.Map;

/** One request of any method, answered with its result: the only thing that the SDK's clients do not offer. */
interface SkillRequests {

    Map<String, Object> send(String method, Map<String, Object> params);

    /** Over a session of one's own (2025 versions), whose `sendRequest` takes any method. */
    static SkillRequests over(McpSession session) {
        return (method, params) -> session.sendRequest(method, params, new TypeRef<Map<String, Object>>() {})
                .block();
    }
}
