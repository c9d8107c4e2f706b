package interop;

import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.agent.tool.ToolSpecification;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.SystemMessage;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.internal.JsonSchemaElementUtils;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.response.ChatResponse;
import interop.PromptSize.ToolShown;
import java.util.ArrayList;
import java.util.List;

/** Stands in for a language model: calls `search_jobs` once, repeats what it answered, and keeps every request. */
final class ScriptedLangChainModel implements ChatModel {

    private final List<ChatRequest> requests = new ArrayList<>();

    @Override
    public ChatResponse doChat(ChatRequest request) {
        requests.add(request);
        List<ChatMessage> messages = request.messages();
        AiMessage answer = messages.get(messages.size() - 1) instanceof ToolExecutionResultMessage result
                ? AiMessage.from(result.text())
                : AiMessage.from(ToolExecutionRequest.builder()
                        .id("1")
                        .name("search_jobs")
                        .arguments("{\"words\":\"baker\"}")
                        .build());
        return ChatResponse.builder().aiMessage(answer).build();
    }

    /** Of the first request, which the answers of tools are not yet part of. */
    PromptSize firstPrompt() {
        return PromptSize.of(messages(), tools());
    }

    List<String> messages() {
        return requests.get(0).messages().stream()
                .map(ScriptedLangChainModel::text)
                .toList();
    }

    List<ToolShown> tools() {
        return requests.get(0).toolSpecifications().stream()
                .map(ScriptedLangChainModel::shown)
                .toList();
    }

    private static String text(ChatMessage message) {
        return message instanceof SystemMessage system ? system.text() : ((UserMessage) message).singleText();
    }

    /** The schema as LangChain4j's own models send it. */
    private static ToolShown shown(ToolSpecification tool) {
        return new ToolShown(tool.name(), tool.description(), JsonSchemaElementUtils.toMap(tool.parameters()));
    }
}
