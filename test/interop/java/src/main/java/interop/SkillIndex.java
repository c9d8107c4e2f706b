package interop;

import java.util.List;

/** What a host asks of a server with skills. It knows nothing of how they were listed. */
interface SkillIndex {

    List<SkillCard> list(String serverId);
}
