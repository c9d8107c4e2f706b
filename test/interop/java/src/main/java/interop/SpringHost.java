package interop;

import interop.Rows.Finding;
import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.McpSyncClient;
import io.modelcontextprotocol.client.transport.ServerParameters;
import io.modelcontextprotocol.client.transport.StdioClientTransport;
import io.modelcontextprotocol.json.McpJsonDefaults;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.springframework.ai.chat.client.ChatClient;
import org.springframework.ai.mcp.McpToolFilter;
import org.springframework.ai.mcp.SyncMcpToolCallbackProvider;

/** A Spring AI host: the skill comes from the registry, the tools from its own server, the filter from the skill. */
final class SpringHost {

    private SpringHost() {}

    static Finding bindsWhatTheSkillNames(Stage stage) throws Exception {
        try (Connection registry = new Connection(stage.origin(), stage.endpoint());
                McpSyncClient jobs = toolServer()) {
            Map<String, Object> found = registry.call("search_skills", Map.of("query", OneConnection.TASK));
            Object uri = Json.objects(found.get("cards")).get(0).get("uri");
            SelectedSkill skill = SelectedSkill.of(registry.call("load_skill", Map.of("uri", uri)));

            ScriptedSpringModel whole = new ScriptedSpringModel();
            ask(whole, skill, jobs, (server, tool) -> true);
            ScriptedSpringModel bound = new ScriptedSpringModel();
            String answer = ask(
                    bound,
                    skill,
                    jobs,
                    (server, tool) ->
                            skill.names(server.initializeResult().serverInfo().name(), tool.name()));

            Check.equal(List.of("get_job", "search_jobs"), PromptSize.names(bound.tools()), "what the model was given");
            Check.that(bound.messages().contains(skill.text()), "the model was given the skill");
            Check.that(answer.contains("search_jobs was called with"), "the bound tool was called: " + answer);
            return Finding.passed(registry.era(), PromptSize.compare(whole.firstPrompt(), bound.firstPrompt()));
        }
    }

    static Finding keepsSchemas() throws Exception {
        try (McpSyncClient jobs = toolServer()) {
            ScriptedSpringModel model = new ScriptedSpringModel();
            ask(model, new SelectedSkill("", "No skill.", List.of()), jobs, (server, tool) -> true);
            return SchemaLoss.finding(jobs.getCurrentInitializationResult().protocolVersion(), model.tools());
        }
    }

    private static String ask(
            ScriptedSpringModel model, SelectedSkill skill, McpSyncClient jobs, McpToolFilter filter) {
        SyncMcpToolCallbackProvider tools = SyncMcpToolCallbackProvider.builder()
                .mcpClients(jobs)
                .toolFilter(filter)
                .build();
        return ChatClient.create(model)
                .prompt()
                .system(system -> system.param("skill", skill.text()).text("{skill}"))
                .user("Which positions fit this baker?")
                .tools(tools)
                .call()
                .content();
    }

    private static McpSyncClient toolServer() {
        List<String> command = ToolServer.command();
        ServerParameters parameters = ServerParameters.builder(command.get(0))
                .args(command.subList(1, command.size()))
                .env(ToolServer.environment())
                .build();
        McpSyncClient client = McpClient.sync(new StdioClientTransport(parameters, McpJsonDefaults.getMapper()))
                .requestTimeout(Duration.ofSeconds(30))
                .build();
        client.initialize();
        return client;
    }
}
