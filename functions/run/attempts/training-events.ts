/** Handles a batch of training events. Each event only triggers a look at its job. */

import { messageOf } from '@tidewheel/kit/errors.ts';
import * as z from 'zod';
import type { QueueMessage, Taken } from '../ingest/take-arrivals.ts';
import { type ObserveDeps, observeAttempt } from './observe-attempt.ts';

const stateChange = z.object({ detail: z.object({ TrainingJobName: z.string().min(1).max(63) }) });

export async function takeTrainingEvents(
  deps: ObserveDeps,
  messages: readonly QueueMessage[],
): Promise<Taken> {
  const failed: { messageId: string; reason: string }[] = [];
  const notes: string[] = [];
  for (const { messageId, body } of messages) {
    try {
      notes.push(await take(deps, body));
    } catch (error: unknown) {
      failed.push({ messageId, reason: messageOf(error) });
    }
  }
  return { failed, notes };
}

async function take(deps: ObserveDeps, body: string): Promise<string> {
  // A message that is no JSON goes to the dead letters, where an alarm finds it.
  const event = stateChange.safeParse(JSON.parse(body));
  if (!event.success) return 'ignored: not a state change of a training job';
  const { TrainingJobName: jobName } = event.data.detail;
  const attempt = await deps.attempts.findByJob(jobName);
  if (attempt === undefined) return `ignored: ${jobName} is not a job of this installation`;
  return `${jobName}: ${(await observeAttempt(deps, attempt)).kind}`;
}
