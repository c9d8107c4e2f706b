package interop;

import interop.Rows.Finding;
import io.modelcontextprotocol.modern.client.SubscriptionEvent;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** The same with the SDK's client of 2026-07-28. */
final class ModernTries {

    private ModernTries() {}

    static Finding findsAndReads(Stage stage) throws Exception {
        ModernConnection connection = new ModernConnection(stage.origin(), stage.endpoint());
        Check.that(connection.discovered.supportedVersions().contains(ModernConnection.ERA), "the era is supported");
        Check.that(
                connection.discovered.capabilities().extensions().containsKey("io.modelcontextprotocol/skills"),
                "the extension is declared");
        ListedTools tools = connection.tools();
        tools.check();
        Map<String, Object> found = connection.call("search_skills", Map.of("query", OneConnection.TASK));
        Map<String, Object> best = Json.objects(found.get("cards")).get(0);
        Map<String, Object> loaded =
                connection.call("load_skill", Map.of("uri", best.get("uri"), "pickId", found.get("pickId")));
        Manifest manifest = new Manifest(Json.objects(loaded.get("files")));
        for (String uri : manifest.uris()) connection.read(uri, manifest);
        return Finding.passed(
                ModernConnection.ERA,
                tools.cards().size() + " cards; all " + manifest.uris().size() + " files of " + best.get("name")
                        + " verified");
    }

    static Finding hearsOfPublish(Stage stage) throws Exception {
        ModernConnection connection = new ModernConnection(stage.origin(), stage.endpoint() + "/as-tools");
        Set<Class<?>> heard = ConcurrentHashMap.newKeySet();
        String uri = "skill://" + stage.namespace() + "/write-job-adverts/SKILL.md";
        try (var listening = connection
                .client
                .listen()
                .toolsChanged()
                .resourcesChanged()
                .resourceUpdates(uri)
                .open(event -> heard.add(event.getClass()))) {
            Check.soon(() -> heard.contains(SubscriptionEvent.Subscribed.class), "the acknowledgement");
            new Publisher(stage).publish("write-job-adverts", "Write an advert that everybody understands.");
            Check.soon(() -> heard.contains(SubscriptionEvent.ToolsListChanged.class), "tools/list_changed");
            Check.soon(() -> heard.contains(SubscriptionEvent.ResourcesListChanged.class), "resources/list_changed");
            Check.soon(() -> heard.contains(SubscriptionEvent.ResourceUpdated.class), "resources/updated");
        }
        return Finding.passed(ModernConnection.ERA, "tools/list_changed, resources/list_changed and resources/updated");
    }

    static Finding skillIndex(Stage stage) {
        Map<String, SkillRequests> servers = Map.of(
                "one", new ModernConnection(stage.origin(), stage.endpoint()).requests(),
                "two", new ModernConnection(stage.secondOrigin(), stage.endpoint()).requests());
        SkillIndex index = new WireSkillIndex(servers);
        List<SkillCard> cards = new ArrayList<>(index.list("one"));
        cards.addAll(index.list("two"));
        long keys = cards.stream().map(SkillCard::key).distinct().count();
        long addresses = cards.stream().map(SkillCard::uri).distinct().count();
        Check.equal((long) cards.size(), keys, "one key a card");
        Check.equal(keys, 2 * addresses, "each address at both servers");
        return Finding.passed(
                ModernConnection.ERA,
                keys + " cards of " + addresses + " addresses; skills/list by HttpClientMcpTransport.exchange");
    }
}
