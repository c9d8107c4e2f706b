import { archivesCampaign, formsCampaign } from "./bodies.ts";
import { runCampaign } from "./campaign.ts";
import type { Campaign, Counts, Run } from "./campaign.ts";
import { damageCampaign } from "./damage.ts";
import { foldersCampaign } from "./folders.ts";
import { cursorsCampaign, urisCampaign, versionsCampaign } from "./spellings.ts";

/** Every campaign that needs no server. */
export interface Runnable {
  name: string;
  run: (run: Run) => Promise<Counts>;
}

const toRunnable = <Sample>(campaign: Campaign<Sample>): Runnable => ({
  name: campaign.name,
  run: (run) => runCampaign(campaign, run),
});

export const folders: Runnable = toRunnable(foldersCampaign);
export const others: readonly Runnable[] = [
  toRunnable(archivesCampaign),
  toRunnable(formsCampaign),
  toRunnable(damageCampaign),
  toRunnable(cursorsCampaign),
  toRunnable(urisCampaign),
  toRunnable(versionsCampaign),
];
