/**
 * What the service asks of the hosts of an attempt, each an object in one folder that the hosts list every few seconds.
 * They are written once and never changed: whoever asks second finds it asked.
 *
 * A gang on EC2 lives in rounds. The first is the launch. When hosts are lost, round 2 says who stays and how many are
 * missing; when those are launched and the lost ones have ended, its members are named and begin anew from the newest
 * checkpoint. A host that finds a round without it leaves: so no two gangs of an attempt ever train at once.
 */
import * as z from 'zod';

export const REQUESTS_FOLDER = 'requests/';

export const hostRequests = {
  stop: `${REQUESTS_FOLDER}stop.json`,
  save: (instanceId: string) => `${REQUESTS_FOLDER}save-${instanceId}.json`,
  round: (round: number) => `${REQUESTS_FOLDER}round-${round}.json`,
  members: (round: number) => `${REQUESTS_FOLDER}members-${round}.json`,
} as const;

export const roundSchema = z.object({
  round: z.number().int().min(2),
  openedAt: z.iso.datetime(),
  /** Instances that go on. */
  stay: z.array(z.string()).min(1),
  /** Instances that are gone or going. */
  lost: z.array(z.string()).min(1),
  missing: z.number().int().min(1),
  /** Of the attempt's run time. */
  leftSeconds: z.number().int().min(1),
});
export type Round = z.infer<typeof roundSchema>;

export const membersSchema = z.object({
  round: z.number().int().min(2),
  members: z.array(z.string()).min(1),
});

/** The newest round that was opened, and its members once they are complete. */
export interface RoundState {
  readonly round: Round;
  readonly members?: readonly string[] | undefined;
}
