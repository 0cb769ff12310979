/** What the limits of an account have held up in a region so far, for a person to read. */
import { request } from 'undici';
import * as z from 'zod';
import { type LimitProfile, limitsOf } from './profiles.ts';

/** As emulators/aws/limits.py answers. */
const answer = z.object({ invocations: z.number(), requests: z.number() });

export type HeldUp = z.infer<typeof answer>;

/** @param url of an emulator that plays limits */
export async function refusedSoFar(url: string): Promise<HeldUp> {
  const { body } = await request(`${url}/_tidewheel/limits`);
  return answer.parse(await body.json());
}

/** @returns lines for the screen */
export function heldUpLines(profile: LimitProfile, { invocations, requests }: HeldUp): readonly string[] {
  const { lambda, s3, dynamodb, sageMaker } = limitsOf(profile);
  const { none, some, eight } = sageMaker.preparationSeconds;
  const { concurrentExecutions: most } = lambda;
  const atOnce = most === undefined ? 'functions have no limit' : `at most ${most} functions run at once`;
  return [
    `what the limits (${profile}) held up:`,
    `  ${invocations} invocations throttled and tried again: ${atOnce}`,
    `  ${requests} S3 requests answered SlowDown and tried again: ${s3.readsPerSecond} reads and ${s3.writesPerSecond} writes a second in a prefix`,
    `  each request: S3 answers after ${s3.latencySeconds} s, DynamoDB after ${dynamodb.latencySeconds} s`,
    `  each training job: SageMaker prepares instances for ${none} s, with accelerators for ${some} s, with eight or more for ${eight} s`,
  ];
}
