package interop;

import interop.PromptSize.ToolShown;
import interop.Rows.Finding;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** What a host's library drops of the schemas that a server listed before a model sees them. */
final class SchemaLoss {

    private final Set<String> keywords = new TreeSet<>();
    private final List<String> names = new ArrayList<>();

    static Finding finding(String era, List<ToolShown> shown) throws IOException, InterruptedException {
        SchemaLoss loss = new SchemaLoss(ToolServer.definitions(Path.of(System.getProperty("tools"))), shown);
        return loss.names.isEmpty()
                ? Finding.passed(era, ToolServer.SIZE + " schemas")
                : Finding.clientFails(era, loss.toString());
    }

    private SchemaLoss(List<Map<String, Object>> listed, List<ToolShown> shown) {
        for (Map<String, Object> definition : listed) {
            ToolShown tool = shown.stream()
                    .filter(one -> one.name().equals(definition.get("name")))
                    .findFirst()
                    .orElseThrow();
            Set<String> lost = new TreeSet<>();
            compare("", definition.get("inputSchema"), tool.parameters(), lost);
            if (!lost.isEmpty()) names.add(tool.name());
            keywords.addAll(lost);
        }
    }

    @Override
    public String toString() {
        return names.size() + " of " + ToolServer.SIZE + " tools (" + String.join(", ", names)
                + ") reach the model without " + String.join(", ", keywords);
    }

    /** `$schema` only says which dialect; nothing that a model needs. */
    private static void compare(String keyword, Object listed, Object shown, Set<String> lost) {
        if (listed instanceof Map<?, ?> expected && shown instanceof Map<?, ?> found) {
            for (Map.Entry<?, ?> entry : expected.entrySet()) {
                String name = (String) entry.getKey();
                if (name.equals("$schema")) continue;
                if (found.containsKey(name)) compare(name, entry.getValue(), found.get(name), lost);
                else lost.add(name);
            }
        } else if (listed instanceof List<?> expected
                && shown instanceof List<?> found
                && expected.size() == found.size()) {
            for (int at = 0; at < expected.size(); at++) compare(keyword, expected.get(at), found.get(at), lost);
        } else if (!listed.equals(shown)) {
            lost.add(keyword);
        }
    }
}
