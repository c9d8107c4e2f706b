package interop;

import java.util.List;
import java.util.Map;

/** What a host keeps of a loaded skill: its text for the prompt, and the tools that it names, as `server/tool`. */
record SelectedSkill(String uri, String text, List<String> tools) {

    /** Of the structured content of `load_skill`. */
    static SelectedSkill of(Map<String, Object> loaded) {
        List<String> tools = Json.objects(loaded.get("tools")).stream()
                .map(card -> (String) card.get("tool"))
                .toList();
        return new SelectedSkill((String) loaded.get("uri"), (String) loaded.get("skillMd"), tools);
    }

    boolean names(String serverId, String tool) {
        return tools.contains(serverId + "/" + tool);
    }
}
