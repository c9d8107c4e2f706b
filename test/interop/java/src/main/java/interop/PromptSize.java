package interop;

import com.knuddels.jtokkit.Encodings;
import com.knuddels.jtokkit.api.EncodingType;
import java.util.List;
import java.util.Map;
import tools.jackson.databind.json.JsonMapper;

/** Tokens (o200k_base) of what a model was given, written as the body of a chat completion. */
record PromptSize(int tools, int tokens) {

    record ToolShown(String name, String description, Map<String, Object> parameters) {}

    private record Body(List<String> messages, List<FunctionTool> tools) {}

    private record FunctionTool(String type, ToolShown function) {}

    static PromptSize of(List<String> messages, List<ToolShown> tools) {
        List<FunctionTool> shown =
                tools.stream().map(tool -> new FunctionTool("function", tool)).toList();
        String body = new JsonMapper().writeValueAsString(new Body(messages, shown));
        int tokens = Encodings.newDefaultEncodingRegistry()
                .getEncoding(EncodingType.O200K_BASE)
                .countTokensOrdinary(body);
        return new PromptSize(tools.size(), tokens);
    }

    static List<String> names(List<ToolShown> tools) {
        return tools.stream().map(ToolShown::name).sorted().toList();
    }

    /** Of the first prompt of a turn. */
    static String compare(PromptSize whole, PromptSize bound) {
        Check.equal(ToolServer.SIZE, whole.tools(), "tools without a selection");
        Check.equal(2, bound.tools(), "tools of the selected skill");
        return String.format(
                "%,d prompt tokens with all %d tools, %,d with the %d that the skill names (o200k_base)",
                whole.tokens(), whole.tools(), bound.tokens(), bound.tools());
    }
}
