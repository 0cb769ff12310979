/**
 * The service's requests to the hosts of an attempt: objects in one folder that the hosts list every few seconds. Each is
 * written once and never changed, so a repeated request changes nothing.
 *
 * A gang on EC2 lives in rounds. The first round is the launch. After a loss, round 2 names the hosts that stay and the
 * number of missing ones. When the missing hosts are launched and the lost ones have ended, its members are named and
 * begin again from the newest checkpoint. A host that is not in a round leaves, so two gangs of an attempt never train at
 * the same time.
 */
import * as z from 'zod';

const REQUESTS_FOLDER = 'requests/';

export const hostRequests = {
  stop: `${REQUESTS_FOLDER}stop.json`,
  save: (instanceId: string) => `${REQUESTS_FOLDER}save-${instanceId}.json`,
  round: (round: number) => `${REQUESTS_FOLDER}round-${round}.json`,
  members: (round: number) => `${REQUESTS_FOLDER}members-${round}.json`,
} as const;

/** What EC2 answered to a request for the attempt's fleet that brought no host. Hosts do not read it. */
export const refusalFiles = {
  folder: 'refusals/',
  key: (number: number) => `refusals/${number}.json`,
} as const;

export const roundSchema = z.object({
  round: z.number().int().min(2),
  openedAt: z.iso.datetime(),
  /** Instances that continue. */
  stay: z.array(z.string()).min(1),
  /** Instances that have ended or are ending. */
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

/** The newest round, and its members once they are complete. */
export interface RoundState {
  readonly round: Round;
  readonly members?: readonly string[] | undefined;
}
