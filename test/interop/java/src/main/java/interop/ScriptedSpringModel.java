package interop;

import interop.PromptSize.ToolShown;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.springframework.ai.chat.messages.AssistantMessage;
import org.springframework.ai.chat.messages.AssistantMessage.ToolCall;
import org.springframework.ai.chat.messages.Message;
import org.springframework.ai.chat.messages.ToolResponseMessage;
import org.springframework.ai.chat.model.ChatModel;
import org.springframework.ai.chat.model.ChatResponse;
import org.springframework.ai.chat.model.Generation;
import org.springframework.ai.chat.prompt.ChatOptions;
import org.springframework.ai.chat.prompt.Prompt;
import org.springframework.ai.model.tool.ToolCallingChatOptions;
import org.springframework.ai.tool.ToolCallback;
import org.springframework.ai.tool.definition.ToolDefinition;
import tools.jackson.databind.json.JsonMapper;

/** Stands in for a language model: calls `search_jobs` once, repeats what it answered, and keeps every prompt. */
final class ScriptedSpringModel implements ChatModel {

    private final List<Prompt> prompts = new ArrayList<>();

    @Override
    public ChatResponse call(Prompt prompt) {
        prompts.add(prompt);
        List<Message> messages = prompt.getInstructions();
        AssistantMessage answer = messages.get(messages.size() - 1) instanceof ToolResponseMessage responses
                ? new AssistantMessage(responses.getResponses().get(0).responseData())
                : AssistantMessage.builder()
                        .toolCalls(List.of(new ToolCall("1", "function", "search_jobs", "{\"words\":\"baker\"}")))
                        .build();
        return new ChatResponse(List.of(new Generation(answer)));
    }

    @Override
    public ChatOptions getOptions() {
        return ToolCallingChatOptions.builder().build();
    }

    /** Of the first prompt, which the answers of tools are not yet part of. */
    PromptSize firstPrompt() {
        return PromptSize.of(messages(), tools());
    }

    List<String> messages() {
        return prompts.get(0).getInstructions().stream().map(Message::getText).toList();
    }

    List<ToolShown> tools() {
        return ((ToolCallingChatOptions) prompts.get(0).getOptions())
                .getToolCallbacks().stream()
                        .map(ToolCallback::getToolDefinition)
                        .map(ScriptedSpringModel::shown)
                        .toList();
    }

    private static ToolShown shown(ToolDefinition tool) {
        return new ToolShown(
                tool.name(),
                tool.description(),
                Json.object(new JsonMapper().readValue(tool.inputSchema(), Map.class)));
    }
}
