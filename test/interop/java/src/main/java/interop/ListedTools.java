package interop;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;

/** A server's tools as a host shows them to a model: cards for the prompt, a schema only of the tool that is wanted. */
final class ListedTools {

    /** As a client of either era lists it. */
    record Listed(String name, String description, Map<String, Object> schema) {}

    /** Enough to choose a tool. */
    record Card(String name, String description) {}

    private final Map<String, Listed> byName = new LinkedHashMap<>();

    ListedTools(List<Listed> tools) {
        for (Listed tool : tools) byName.put(tool.name(), tool);
    }

    List<Card> cards() {
        return byName.values().stream()
                .map(tool -> new Card(tool.name(), tool.description()))
                .toList();
    }

    /** Throws for a name that was never listed: a model may have made it up, and an empty schema would hide that. */
    Map<String, Object> schema(String name) {
        Listed tool = byName.get(name);
        if (tool == null) {
            throw new NoSuchElementException("No tool \"" + name + "\" was listed; there are " + byName.keySet());
        }
        return tool.schema();
    }

    /** What every try expects of the registry's own tools. */
    void check() {
        Check.that(cards().stream().noneMatch(card -> card.description().isBlank()), "every card says what for");
        Check.that(schema("search_skills").containsKey("properties"), "schema of search_skills");
        try {
            schema("delete_everything");
        } catch (NoSuchElementException expected) {
            return;
        }
        throw new AssertionError("a schema of a name that was never listed");
    }
}
