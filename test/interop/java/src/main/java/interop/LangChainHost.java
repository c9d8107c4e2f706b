package interop;

import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.agent.tool.ToolSpecification;
import dev.langchain4j.mcp.McpToolProvider;
import dev.langchain4j.mcp.client.DefaultMcpClient;
import dev.langchain4j.mcp.client.McpBlobResourceContents;
import dev.langchain4j.mcp.client.McpClient;
import dev.langchain4j.mcp.client.McpClientListener;
import dev.langchain4j.mcp.client.McpResourceContents;
import dev.langchain4j.mcp.client.McpTextResourceContents;
import dev.langchain4j.mcp.client.transport.http.StreamableHttpMcpTransport;
import dev.langchain4j.mcp.client.transport.stdio.StdioMcpTransport;
import dev.langchain4j.service.AiServices;
import dev.langchain4j.service.tool.ToolExecutionResult;
import interop.Rows.Finding;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiPredicate;
import java.util.function.Consumer;
import tools.jackson.databind.json.JsonMapper;

/** A LangChain4j host, with LangChain4j's own MCP client towards the registry and towards the tool server. */
final class LangChainHost {

    /** What DefaultMcpClient asks for and our registry agrees to; it does not say what was negotiated. */
    static final String ERA = "2025-11-25";

    interface Assistant {
        String answer(String task);
    }

    private LangChainHost() {}

    static Finding findsAndReads(Stage stage) throws Exception {
        try (McpClient registry = registry(stage, stage.endpoint(), new McpClientListener() {}, uri -> {})) {
            int tools = registry.listTools().size();
            Map<String, Object> loaded = select(registry);
            Manifest manifest = new Manifest(Json.objects(loaded.get("files")));
            for (String uri : manifest.uris()) read(registry, uri, manifest);
            return Finding.passed(
                    ERA,
                    tools + " tools; all " + manifest.uris().size() + " files of " + loaded.get("name") + " verified");
        }
    }

    static Finding hearsOfPublish(Stage stage) throws Exception {
        Set<String> heard = ConcurrentHashMap.newKeySet();
        McpClientListener listener = new McpClientListener() {
            @Override
            public void onNotificationToolsListChanged() {
                heard.add("tools/list_changed");
            }

            @Override
            public void onNotificationResourcesListChanged() {
                heard.add("resources/list_changed");
            }
        };
        try (McpClient registry =
                registry(stage, stage.endpoint() + "/as-tools", listener, uri -> heard.add("resources/updated"))) {
            registry.subscribeToResource("skill://" + stage.namespace() + "/benchmark-salaries/SKILL.md");
            new Publisher(stage).publish("benchmark-salaries", "Compare the pay of a role with the market.");
            Check.soon(() -> heard.size() == 3, heard);
            return Finding.passed(ERA, "tools/list_changed, resources/list_changed and resources/updated");
        }
    }

    static Finding bindsWhatTheSkillNames(Stage stage) throws Exception {
        try (McpClient registry = registry(stage, stage.endpoint(), new McpClientListener() {}, uri -> {});
                McpClient jobs = toolServer()) {
            SelectedSkill skill = SelectedSkill.of(select(registry));

            ScriptedLangChainModel whole = new ScriptedLangChainModel();
            ask(whole, skill, jobs, (server, tool) -> true);
            ScriptedLangChainModel bound = new ScriptedLangChainModel();
            String answer = ask(bound, skill, jobs, (server, tool) -> skill.names(server.key(), tool.name()));

            Check.equal(List.of("get_job", "search_jobs"), PromptSize.names(bound.tools()), "what the model was given");
            Check.that(bound.messages().contains(skill.text()), "the model was given the skill");
            Check.that(answer.contains("search_jobs was called with"), "the bound tool was called: " + answer);
            return Finding.passed(ERA, PromptSize.compare(whole.firstPrompt(), bound.firstPrompt()));
        }
    }

    static Finding keepsSchemas() throws Exception {
        try (McpClient jobs = toolServer()) {
            ScriptedLangChainModel model = new ScriptedLangChainModel();
            ask(model, new SelectedSkill("", "No skill.", List.of()), jobs, (server, tool) -> true);
            return SchemaLoss.finding(ERA, model.tools());
        }
    }

    private static String ask(
            ScriptedLangChainModel model,
            SelectedSkill skill,
            McpClient jobs,
            BiPredicate<McpClient, ToolSpecification> filter) {
        return AiServices.builder(Assistant.class)
                .chatModel(model)
                .systemMessageProvider(conversation -> skill.text())
                .toolProvider(McpToolProvider.builder()
                        .mcpClients(jobs)
                        .filter(filter)
                        .failIfOneServerFails(true)
                        .build())
                .build()
                .answer("Which positions fit this baker?");
    }

    /** What `load_skill` says of the skill that fits best. */
    private static Map<String, Object> select(McpClient registry) {
        Map<String, Object> found = call(registry, "search_skills", Map.of("query", OneConnection.TASK));
        Object uri = Json.objects(found.get("cards")).get(0).get("uri");
        return call(registry, "load_skill", Map.of("uri", uri));
    }

    private static Map<String, Object> call(McpClient client, String tool, Map<String, Object> arguments) {
        ToolExecutionResult result = client.executeTool(ToolExecutionRequest.builder()
                .name(tool)
                .arguments(new JsonMapper().writeValueAsString(arguments))
                .build());
        Check.that(!result.isError(), tool + ": " + result.resultText());
        return Json.object(result.result());
    }

    private static void read(McpClient client, String uri, Manifest manifest) throws Exception {
        McpResourceContents contents = client.readResource(uri).contents().get(0);
        String text = contents instanceof McpTextResourceContents found ? found.text() : null;
        String blob = contents instanceof McpBlobResourceContents found ? found.blob() : null;
        manifest.verified(uri, text, blob);
    }

    private static McpClient registry(
            Stage stage, String endpoint, McpClientListener listener, Consumer<String> onUpdate) {
        return DefaultMcpClient.builder()
                .key("registry")
                .transport(StreamableHttpMcpTransport.builder()
                        .url(stage.origin() + endpoint)
                        .subsidiaryChannel(true)
                        .build())
                .listener(listener)
                .onResourceUpdated((client, uri) -> onUpdate.accept(uri))
                .build();
    }

    private static McpClient toolServer() {
        return DefaultMcpClient.builder()
                .key(ToolServer.ID)
                .transport(StdioMcpTransport.builder()
                        .command(ToolServer.command())
                        .environment(ToolServer.environment())
                        .build())
                .build();
    }
}
