/**
 * Handles batches of events about training jobs and instances. Instances and jobs of others are ignored.
 *
 * An event of a job only triggers a look at it. After an interruption warning of EC2 the hosts save within its two minutes,
 * and the lost host is replaced if possible. A rebalance recommendation requests a checkpoint while training continues.
 * Every other event of an instance only triggers a look at the attempt. A message that is no such event fails, so that it
 * ends in the dead-letter queue, which has an alarm. `instance-id` names the instance, because the ARN in a warning holds
 * the zone instead of the region.
 * https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html
 */
import { parseJson } from '@tidewheel/kit/json.ts';
import * as z from 'zod';
import { portOf } from '../../launch/launcher.ts';
import type { AttemptRecord } from '../../records/run-records.ts';
import { type QueueMessage, type Taken, takeEach } from '../queue-messages.ts';
import { type ObserveDeps, observeAttempt } from './observe-attempt.ts';
import { refillAttempt } from './refill-attempt.ts';

const stateChange = z.object({ detail: z.object({ TrainingJobName: z.string().min(1).max(63) }) });

export const takeTrainingEvents = (deps: ObserveDeps, messages: readonly QueueMessage[]): Promise<Taken> =>
  takeEach(messages, ({ body }) => takeTrainingEvent(deps, body));

async function takeTrainingEvent(deps: ObserveDeps, body: string): Promise<string> {
  // A message that is no JSON goes to the dead letters, where an alarm finds it.
  const event = stateChange.safeParse(JSON.parse(body));
  if (!event.success) return 'ignored: not a state change of a training job';
  const { TrainingJobName: jobName } = event.data.detail;
  const attempt = await deps.attempts.findByJob(jobName);
  if (attempt === undefined) return `ignored: ${jobName} is not a job of this installation`;
  return `${jobName}: ${(await observeAttempt(deps, attempt)).kind}`;
}

const instanceEvent = z.object({
  'detail-type': z.string(),
  time: z.iso.datetime().optional(),
  detail: z.object({ 'instance-id': z.string().regex(/^i-[0-9a-f]{8,17}$/) }),
});
type InstanceEvent = z.infer<typeof instanceEvent>;

const WARNING = 'EC2 Spot Instance Interruption Warning';
const REBALANCE = 'EC2 Instance Rebalance Recommendation';

export async function takeSpotWarnings(deps: ObserveDeps, messages: readonly QueueMessage[]): Promise<Taken> {
  const parsed = messages.map((message) => ({
    ...message,
    event: instanceEvent.safeParse(parseJson(message.body)).data,
  }));
  const ids = parsed.flatMap(({ event }) => event?.detail['instance-id'] ?? []);
  // Where the jobs are not known, every message fails.
  const jobs = jobsOf(deps, [...new Set(ids)]);
  jobs.catch(() => undefined);
  return takeEach(parsed, async ({ event }) => takeInstanceEvent(deps, event, await jobs));
}

/** Asks every launcher with a host port: an instance belongs to at most one of them. */
async function jobsOf(
  { launchers }: ObserveDeps,
  instanceIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const ports = Object.values(launchers).flatMap(({ hosts }) => hosts ?? []);
  const found = await Promise.all(ports.map((hosts) => hosts.jobsOf(instanceIds)));
  return new Map(found.flatMap((jobs) => [...jobs]));
}

async function takeInstanceEvent(
  deps: ObserveDeps,
  event: InstanceEvent | undefined,
  jobs: ReadonlyMap<string, string>,
): Promise<string> {
  if (event === undefined) throw new Error('the message is no event about an EC2 instance');
  const instanceId = event.detail['instance-id'];
  const jobName = jobs.get(instanceId);
  const attempt = jobName === undefined ? undefined : await deps.attempts.findByJob(jobName);
  if (attempt === undefined) return `ignored: ${instanceId} is not a host of this installation`;
  return `${attempt.jobName}: ${await answer(deps, attempt, event)}`;
}

async function answer(deps: ObserveDeps, attempt: AttemptRecord, event: InstanceEvent): Promise<string> {
  const instanceId = event.detail['instance-id'];
  const isOpen = attempt.outcome === undefined && attempt.recall === undefined;
  if (isOpen && event['detail-type'] === WARNING) {
    // The host sees the notice itself. This call reaches the other hosts of its gang.
    return (await refillAttempt(deps, attempt, [instanceId])).kind;
  }
  if (isOpen && event['detail-type'] === REBALANCE) {
    await portOf(deps.launchers, attempt).hosts?.requestCheckpoint(attempt.jobName, instanceId);
    await deps.timeline.add(attempt.runId, {
      id: `rebalance-${attempt.attempt}-${instanceId}`,
      at: event.time ?? attempt.updatedAt,
      kind: 'RebalanceRecommended',
      text: `attempt ${attempt.attempt}: EC2 expects to reclaim ${instanceId}; a checkpoint is requested`,
    });
  }
  return (await refillAttempt(deps, attempt)).kind;
}
