package interop;

import io.modelcontextprotocol.spec.McpSchema.Tool;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;

/** A server's tools as a host shows them to a model: cards for the prompt, a schema only of the tool that is wanted. */
final class ListedTools {

    /** Enough to choose a tool. */
    record Card(String name, String description) {}

    private final Map<String, Tool> byName = new LinkedHashMap<>();

    ListedTools(List<Tool> tools) {
        for (Tool tool : tools) byName.put(tool.name(), tool);
    }

    List<Card> cards() {
        return byName.values().stream().map(tool -> new Card(tool.name(), tool.description())).toList();
    }

    /** Throws for a name that was never listed: a model may have made it up, and an empty schema would hide that. */
    Map<String, Object> schema(String name) {
        Tool tool = byName.get(name);
        if (tool == null) throw new NoSuchElementException("No tool \"" + name + "\" was listed; there are " + byName.keySet());
        return tool.inputSchema();
    }
}
