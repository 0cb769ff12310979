import { runIdOf } from '@tidewheel/contract/bucket-keys.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jobNameOf, jobSaltOf, parseJobName } from '../../../functions/launch/job/job-name.ts';

const pipeline = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$/);
const batch = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
const attempt = fc.integer({ min: 1, max: 1_000 });
const salt = fc.string().map(jobSaltOf);

describe('jobNameOf', () => {
  it('is valid for every run and attempt', () => {
    fc.assert(
      fc.property(pipeline, batch, attempt, salt, (name, number, tries, ours) => {
        expect(jobNameOf(runIdOf(name, number), tries, ours)).toMatch(
          /^(?=.{1,63}$)[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}$/,
        );
      }),
    );
  });

  it('is read back into its run and attempt', () => {
    fc.assert(
      fc.property(pipeline, batch, attempt, salt, (name, number, tries, ours) => {
        const runId = runIdOf(name, number);
        expect(parseJobName(jobNameOf(runId, tries, ours), ours)).toEqual({ runId, attempt: tries });
      }),
    );
  });

  it('differs between installations', () => {
    const [ours, theirs] = [jobSaltOf('tw-data-1'), jobSaltOf('tw-data-2')];
    const name = jobNameOf('digits-000001', 1, ours);
    expect(name).not.toBe(jobNameOf('digits-000001', 1, theirs));
    expect(parseJobName(name, theirs)).toBeUndefined();
  });

  it.each(['digits-000001', 'a-foreign-job', 'digits-000001-a0-000000', 'digits-a1-000000', ''])(
    'is not seen in %s',
    (name) => {
      expect(parseJobName(name, '000000')).toBeUndefined();
    },
  );
});
