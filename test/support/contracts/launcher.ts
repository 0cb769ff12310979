/** What every launcher does: run on the fakes, on the adapters over the emulators, and on a launcher that is being added. */
import { expect, it, describe as suite } from 'vitest';
import { jobNameOf, jobSaltOf } from '../../../functions/launch/job/job-name.ts';
import type { JobInput } from '../../../functions/launch/job/job-parts.ts';
import { isTerminal } from '../../../functions/launch/job/job-state.ts';
import { outcomeOf } from '../../../functions/launch/job/outcome.ts';
import type { TrainingJobDescription } from '../../../functions/launch/job/training-service.ts';
import type { Launcher, PreparedJob, Starter } from '../../../functions/launch/launcher.ts';

export interface LauncherGround {
  readonly launcher: Launcher;
  readonly starter: Starter;
  /** A job that the launcher can start, trains until it is stopped or finished, and differs by its attempt. */
  readonly input: (attempt: number) => JobInput;
  /** Puts into the bucket what a job needs before it starts. */
  readonly write: (objects: PreparedJob['objects']) => Promise<void>;
  /** The script of the job ends well. */
  readonly finish: (jobName: string) => Promise<void>;
  /** Time passes, for the service as well. */
  readonly pass: () => Promise<void>;
  /** The next job gets this error. */
  readonly failNext?: ((kind: 'capacity' | 'quota') => void) | undefined;
  /** The job's hosts. */
  readonly instancesOf?: ((jobName: string) => Promise<readonly string[]>) | undefined;
}

/** What the ground can show; the suite runs no test of the rest. */
export interface Capabilities {
  /** The launcher has a host port, and the ground `instancesOf`. */
  readonly hosts: boolean;
  readonly leftovers: boolean;
  /** The ground has `failNext`; the emulators never lack capacity. */
  readonly capacityErrors: boolean;
}

const LOOKS = 300;
const FOREIGN_INSTANCE = 'i-00000000deadbeef0';

export function launcherContract(name: string, has: Capabilities, open: () => Promise<LauncherGround>): void {
  let attempts = 0;
  const begin = async () => {
    attempts += 1;
    const ground = await open();
    const input = ground.input(attempts);
    const jobName = jobNameOf(input.runId, input.attempt, jobSaltOf(input.dataBucket ?? input.bucket));
    return { ...ground, input, job: { jobName } };
  };
  const started = async () => {
    const begun = await begin();
    const prepared = prepare(begun);
    await begun.write(prepared.objects);
    expect(await prepared.start()).toMatchObject({ kind: 'created' });
    return { ...begun, prepared };
  };

  suite(`${name} as a launcher`, () => {
    it('has the ports that it is tested for', async () => {
      const { launcher, instancesOf, failNext } = await begin();
      expect({
        hosts: launcher.hosts !== undefined && instancesOf !== undefined,
        leftovers: launcher.leftovers !== undefined,
        capacityErrors: failNext !== undefined,
      }).toEqual(has);
    });

    it('names the invalid field of an input', async () => {
      const { starter, input } = await begin();
      const foreign = { shardsPrefix: 'other/dataset/', shards: [], totals: { shards: 0, bytes: 0 } };
      expect(starter.prepare({ ...input, generations: [foreign] })).toMatchObject({
        kind: 'problems',
        problems: [{ path: 'generations' }],
      });
    });

    it('prepares a job without shards', async () => {
      const { starter, input } = await begin();
      expect(starter.prepare({ ...input, generations: [] })).toMatchObject({ kind: 'prepared' });
    });

    it('prepares the same job from the same input', async () => {
      const begun = await begin();
      const [one, two] = [prepare(begun), prepare(begun)];
      expect(one.objects).toEqual(two.objects);
      expect(one.inputReason).toBe(two.inputReason);
      expect(one.inputReason).toMatch(/^(File|FastFile|Pipe): ./);
    });

    it('starts a job once', async () => {
      const { prepared, input, starter } = await started();
      expect(await prepared.start()).toEqual({ kind: 'alreadyExists' });
      expect(await prepare({ starter, input }).start()).toEqual({ kind: 'alreadyExists' });
    });

    it('describes a job that runs', async () => {
      const { launcher, job, pass } = await started();
      await pass();
      const answer = await described(launcher, job.jobName);
      expect(answer).toMatchObject({ TrainingJobName: job.jobName, TrainingJobStatus: 'InProgress' });
      expect(isTerminal(answer)).toBe(false);
      expect(answer.SecondaryStatusTransitions.length).toBeGreaterThan(0);
    });

    it('knows nothing of a job that it never started', async () => {
      const { launcher, job } = await begin();
      expect(await launcher.describe(job)).toBeUndefined();
      expect(await launcher.stop(job)).toBe('notFound');
    });

    it('stops a job after any number of requests', async () => {
      const { launcher, job, pass } = await started();
      expect(await launcher.stop(job)).toBe('stopping');
      expect(['stopping', 'alreadyEnded']).toContain(await launcher.stop(job));
      const answer = await ended(launcher, job.jobName, pass);
      expect(outcomeOf(answer).kind).toBe('stopped');
      expect(await launcher.stop(job)).toBe('alreadyEnded');
    });

    it('stops now after a stop with a save', async () => {
      const { launcher, job, pass } = await started();
      expect(await launcher.stop(job, 'afterSave')).toBe('stopping');
      expect(['stopping', 'alreadyEnded']).toContain(await launcher.stop(job, 'now'));
      const answer = await ended(launcher, job.jobName, pass);
      expect(outcomeOf(answer).kind).toBe('stopped');
    });

    it('distinguishes a completed job from a stopped one', async () => {
      const { launcher, job, pass, finish } = await started();
      await pass();
      await finish(job.jobName);
      const outcome = outcomeOf(await ended(launcher, job.jobName, pass));
      expect(outcome).toMatchObject({ kind: 'completed', interruptions: 0 });
      expect(outcome.endedAt).toBeDefined();
      expect(outcome.billableSeconds).toBeLessThanOrEqual(outcome.trainingSeconds);
      expect(await launcher.stop(job)).toBe('alreadyEnded');
    });

    it.runIf(has.capacityErrors).each(['capacity', 'quota'] as const)(
      'returns %s as a value',
      async (kind) => {
        const { failNext, launcher, job, ...begun } = await begin();
        failNext?.(kind);
        expect(await prepare(begun).start()).toMatchObject({ kind, message: expect.any(String) });
        expect(await launcher.describe(job)).toBeUndefined();
      },
    );

    it.runIf(has.hosts)('finds the job of its own hosts alone', async () => {
      const { launcher, job, instancesOf } = await started();
      const ids = (await instancesOf?.(job.jobName)) ?? [];
      expect(ids.length).toBeGreaterThan(0);
      expect(await launcher.hosts?.jobsOf([...ids, FOREIGN_INSTANCE])).toEqual(
        new Map(ids.map((id) => [id, job.jobName])),
      );
      expect(await launcher.hosts?.jobsOf([])).toEqual(new Map());
    });

    it.runIf(has.hosts)('replaces no host of a whole gang', async () => {
      const { launcher, job } = await started();
      expect(await launcher.hosts?.refill(job.jobName, [])).toEqual({ kind: 'none' });
      expect(await launcher.hosts?.refill('no-job', [])).toEqual({ kind: 'none' });
      await launcher.hosts?.requestCheckpoint('no-job', FOREIGN_INSTANCE);
    });

    it.runIf(has.leftovers)('lists what jobs leave behind until the release', async () => {
      const { launcher, job, pass } = await started();
      expect(await launcher.leftovers?.list()).toContain(job.jobName);
      await launcher.stop(job);
      await ended(launcher, job.jobName, pass);
      await launcher.leftovers?.release(job.jobName);
      await launcher.leftovers?.release(job.jobName);
      expect(await launcher.leftovers?.list()).not.toContain(job.jobName);
    });
  });
}

function prepare({ starter, input }: Pick<LauncherGround, 'starter'> & { input: JobInput }): PreparedJob {
  const prepared = starter.prepare(input);
  if (prepared.kind === 'prepared') return prepared;
  throw new Error(prepared.problems.map(({ path, message }) => `${path}: ${message}`).join('; '));
}

async function described(launcher: Launcher, jobName: string): Promise<TrainingJobDescription> {
  const answer = await launcher.describe({ jobName });
  if (answer === undefined) throw new Error(`${jobName} is not known`);
  return answer;
}

/** As `observeAttempt` does: a job that got a stop request and counts as running again gets another. */
async function ended(
  launcher: Launcher,
  jobName: string,
  pass: () => Promise<void>,
): Promise<TrainingJobDescription> {
  let wasStopping = false;
  for (let look = 0; look < LOOKS; look += 1) {
    const answer = await described(launcher, jobName);
    if (isTerminal(answer)) return answer;
    if (answer.TrainingJobStatus === 'Stopping') wasStopping = true;
    else if (wasStopping) await launcher.stop({ jobName });
    await pass();
  }
  throw new Error(`${jobName} has not ended after ${LOOKS} looks`);
}
