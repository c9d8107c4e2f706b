package interop;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** `skills/list` as it goes over the wire. To be replaced by the SDK's own method once it has one. */
final class WireSkillIndex implements SkillIndex {

    private final Map<String, SkillRequests> servers;

    WireSkillIndex(Map<String, SkillRequests> servers) {
        this.servers = servers;
    }

    @Override
    public List<SkillCard> list(String serverId) {
        List<SkillCard> cards = new ArrayList<>();
        Object cursor = null;
        do {
            Map<String, Object> params = cursor == null ? Map.of() : Map.of("cursor", cursor);
            Map<String, Object> page = servers.get(serverId).send("skills/list", params);
            for (Map<String, Object> skill : Json.objects(page.get("skills"))) cards.add(card(serverId, skill));
            cursor = page.get("nextCursor");
        } while (cursor != null);
        return cards;
    }

    private static SkillCard card(String serverId, Map<String, Object> skill) {
        Map<String, Object> frontmatter = Json.object(skill.get("frontmatter"));
        return new SkillCard(serverId, (String) skill.get("uri"), (String) frontmatter.get("name"), (String)
                frontmatter.get("description"));
    }
}
