package interop;

import interop.Rows.Finding;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** One index over two servers that serve the same address with different bytes. */
final class TwoRegistries {

    private TwoRegistries() {}

    static Finding keyedByServerAndUri(Stage stage) throws Exception {
        try (Connection first = new Connection(stage.origin(), stage.endpoint());
                Connection second = new Connection(stage.secondOrigin(), stage.endpoint());
                OwnSession firstAgain = new OwnSession(stage.origin(), stage.endpoint());
                OwnSession secondAgain = new OwnSession(stage.secondOrigin(), stage.endpoint())) {
            // From here on the same address means two releases.
            new Publisher(stage).publish("check-references", "Call former employers, from the first registry only.");
            SkillIndex overTheWire = new WireSkillIndex(Map.of("one", first.requests(), "two", second.requests()));
            SkillIndex byOwnSessions =
                    new WireSkillIndex(Map.of("one", firstAgain.requests(), "two", secondAgain.requests()));
            SkillIndex byResources = new ResourceSkillIndex(Map.of("one", first.client, "two", second.client));
            Map<SkillCard.Key, SkillCard> known = new HashMap<>();
            for (String serverId : List.of("one", "two")) {
                List<SkillCard> cards = overTheWire.list(serverId);
                for (SkillCard card : cards) known.put(card.key(), card);
                Check.equal(cards, byOwnSessions.list(serverId), "the cards of sessions of our own");
                Check.equal(cards, byResources.list(serverId), "the cards of a method that the SDK has");
            }

            String uri = "skill://" + stage.namespace() + "/check-references/SKILL.md";
            String ours = known.get(new SkillCard.Key("one", uri)).description();
            String theirs = known.get(new SkillCard.Key("two", uri)).description();
            Check.that(!ours.equals(theirs), "both are kept, though their address is the same");
            return Finding.passed(
                    first.era(),
                    known.size() + " cards; the SDK has no skills/list: sent over the client's own transport; the same "
                            + "cards by McpClientSession.sendRequest and by listResources");
        }
    }
}
