package interop;

import io.modelcontextprotocol.client.McpSyncClient;
import java.util.List;
import java.util.Map;

/**
 * The same port by a method that the SDK has today: our registry also lists each SKILL.md as a resource. It shows that
 * a host can change how skills are listed without a change anywhere else, as it will once the SDK has `skills/list`.
 */
final class ResourceSkillIndex implements SkillIndex {

    private final Map<String, McpSyncClient> clients;

    ResourceSkillIndex(Map<String, McpSyncClient> clients) {
        this.clients = clients;
    }

    @Override
    public List<SkillCard> list(String serverId) {
        return clients.get(serverId).listResources().resources().stream()
                .filter(resource -> resource.uri().endsWith("/SKILL.md"))
                .map(resource -> new SkillCard(serverId, resource.uri(), resource.name(), resource.description()))
                .toList();
    }
}
