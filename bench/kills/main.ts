/** `npm run bench:kills [-- --kills 20]`: one process of `npm start` is killed in each of many drops; no file is lost or packed twice. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { GetObjectCommand, NoSuchKey, PutObjectCommand } from '@aws-sdk/client-s3';
import { paginateListTrainingJobs } from '@aws-sdk/client-sagemaker';
import { bucketKeys, s3Uri } from '@tidewheel/contract/bucket-keys.ts';
import { readCommandLine, runCommand } from '@tidewheel/kit/command-line.ts';
import { hasCode, messageOf } from '@tidewheel/kit/errors.ts';
import { wholeNumber } from '@tidewheel/kit/fields.ts';
import { seededUniform } from '@tidewheel/kit/seeded-random.ts';
import * as z from 'zod';
import { FINISHED } from '../../functions/records/run-records.ts';
import { declareCounting } from '../counting-pipeline.ts';
import { VICTIMS, type Victim, victimsOf } from './processes.ts';
import { PROJECT_FOLDER, Started, type Up } from './started.ts';

const USAGE = `npm run bench:kills -- [OPTIONS]

Starts a region of its own with npm start, and for every seed drops files and kills one of its processes (kill -9) at a
drawn moment: ${VICTIMS.join(', ')}. It starts the region again where that ended it. Every
file has to be packed once, every run has to succeed (one whose agent or script was killed: to say so), and every
training job has to stand in one report.

  --kills N   how many (20)
  --first N   the first seed (1)
  --files N   files in each drop (40)`;

const whole = wholeNumber(1, 100_000);
const schema = z.object({ kills: whole.default(20), first: whole.default(1), files: whole.default(40) });

const PIPELINE = 'kills';
const QUIET_SECONDS = 2;
/** The moment of a kill, from the drop on: settling, packing, sealing and the start of the training lie before it. */
const LATEST_SECONDS = 12;
/** A victim may not live yet; hosts come last. */
const PATIENCE_SECONDS = 60;
/** The schedule of reconcile comes every five minutes: what only that heals ends within two of them. */
const END_SECONDS = 660;
const LOOK_MILLISECONDS = 500;

const runsReply = z.object({ runs: z.array(z.object({ runId: z.string(), status: z.string() })) });
const runReply = z.object({
  run: z.object({ failure: z.string().optional() }),
  attempts: z.array(z.object({ jobName: z.string() })),
});
const reportReply = z.object({ attempts: z.array(z.unknown()).optional() });
const manifest = z.object({ shards: z.array(z.object({ samples: z.number() })) });

/** As a container that ran out of memory: AWS cannot tell either, and another try would end the same way. */
const ENDS_ITS_RUN: readonly Victim[] = ['agent', 'script'];

/** @returns false for a process that has ended by itself meanwhile */
function isKilled(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch (error: unknown) {
    if (hasCode(error, 'ESRCH')) return false;
    throw error;
  }
}

class Campaign {
  readonly #started: Started;
  readonly #judged = new Set<string>();
  #dropped = 0;

  constructor(started: Started) {
    this.#started = started;
  }

  async play(seed: number, files: number) {
    const random = seededUniform(`kills ${seed}`);
    const victim = VICTIMS[seed % VICTIMS.length] ?? 'emulator';
    const before = this.#started.starts;
    const began = performance.now();
    const [atSeconds] = await Promise.all([this.#kill(victim, random), this.#drop(seed, files)]);
    const ended = await this.#end();
    const problems = ended ? await this.#problems(victim) : ['the runs have not ended'];
    const endedSeconds = Math.round((performance.now() - began) / 1_000);
    const restarts = this.#started.starts - before;
    return { seed, victim, atSeconds, endedSeconds, restarts, problems };
  }

  /** @returns seconds from the drop to the kill, undefined when no such process came */
  async #kill(victim: Victim, random: () => number): Promise<number | undefined> {
    const began = performance.now();
    const seconds = () => (performance.now() - began) / 1_000;
    await sleep(random() * LATEST_SECONDS * 1_000);
    while (seconds() < PATIENCE_SECONDS) {
      const living = await victimsOf(this.#started.pid, victim);
      const pid = living[Math.floor(random() * living.length)];
      if (pid !== undefined && isKilled(pid)) return seconds();
      await sleep(50);
    }
    return undefined;
  }

  /** As a person does: a file whose upload was not answered is uploaded again. */
  async #drop(seed: number, files: number): Promise<void> {
    for (let file = 0; file < files; file += 1) {
      const Key = `${bucketKeys.incoming(PIPELINE)}${seed}/${file}.txt`;
      await this.#whileUp(({ clients, stack }) =>
        clients.s3.send(new PutObjectCommand({ Bucket: stack.bucket, Key, Body: `${seed} ${file}` })),
      );
    }
    this.#dropped += files;
  }

  async #whileUp<T>(ask: (up: Up) => Promise<T>): Promise<T> {
    const until = Date.now() + END_SECONDS * 1_000;
    for (;;) {
      try {
        return await ask(await this.#started.up());
      } catch (error: unknown) {
        if (Date.now() > until) throw error;
        await sleep(LOOK_MILLISECONDS);
      }
    }
  }

  async #runs(): Promise<z.output<typeof runsReply>['runs']> {
    const reply = await this.#whileUp(async ({ api }) =>
      runsReply.parse((await api.call('GET', `/pipelines/${PIPELINE}/runs?limit=200`)).body),
    );
    return reply.runs;
  }

  /** A run that failed before its seal, or found nothing new, has sealed none. */
  async #samples(): Promise<number> {
    let samples = 0;
    for (const { runId } of await this.#runs()) {
      const Key = bucketKeys.manifest(PIPELINE, runId);
      const text = await this.#whileUp(async ({ clients, stack }) => {
        try {
          const { Body } = await clients.s3.send(new GetObjectCommand({ Bucket: stack.bucket, Key }));
          return await Body?.transformToString();
        } catch (error: unknown) {
          if (error instanceof NoSuchKey) return undefined;
          throw error;
        }
      });
      if (text === undefined) continue;
      for (const shard of manifest.parse(JSON.parse(text)).shards) samples += shard.samples;
    }
    return samples;
  }

  /** @returns false when it took too long */
  async #end(): Promise<boolean> {
    const until = Date.now() + END_SECONDS * 1_000;
    while (Date.now() < until) {
      const runs = await this.#runs();
      const haveEnded = runs.every(({ status }) => FINISHED.some((each) => each === status));
      if (runs.length > 0 && haveEnded && (await this.#samples()) >= this.#dropped) return true;
      await sleep(LOOK_MILLISECONDS);
    }
    return false;
  }

  async #problems(victim: Victim): Promise<readonly string[]> {
    const problems: string[] = [];
    const samples = await this.#samples();
    if (samples !== this.#dropped)
      problems.push(`${this.#dropped} files were dropped, ${samples} samples packed`);
    const reported: string[] = [];
    for (const { runId, status } of await this.#runs()) {
      if (status === 'empty') continue;
      const {
        run,
        attempts,
        reported: inReport,
      } = await this.#whileUp(async ({ api }) => ({
        ...runReply.parse((await api.call('GET', `/runs/${runId}`)).body),
        reported: reportReply.parse((await api.call('GET', `/runs/${runId}/report`)).body).attempts?.length,
      }));
      const failure = run.failure ?? 'no reason';
      if (this.#isUnexpected(runId, status, victim, failure)) problems.push(`${runId} ${status}: ${failure}`);
      if (inReport !== attempts.length)
        problems.push(`${runId} has ${attempts.length} attempts, its report ${inReport}`);
      reported.push(...attempts.map(({ jobName }) => jobName));
    }
    const others = (await this.#jobs()).filter((name) => !reported.includes(name));
    if (others.length > 0) problems.push(`training jobs of no attempt: ${others.join(', ')}`);
    return [...problems, ...(await this.#verified())];
  }

  /** Once for each run. */
  #isUnexpected(runId: string, status: string, victim: Victim, failure: string): boolean {
    if (this.#judged.has(runId)) return false;
    this.#judged.add(runId);
    const isStated = ENDS_ITS_RUN.includes(victim) && failure.includes('exit code: 137');
    return status !== 'succeeded' && !isStated;
  }

  #jobs(): Promise<readonly string[]> {
    return this.#whileUp(async ({ clients: { sageMaker: client } }) => {
      const names: string[] = [];
      for await (const page of paginateListTrainingJobs({ client }, { NameContains: PIPELINE }))
        names.push(...(page.TrainingJobSummaries ?? []).map(({ TrainingJobName = '' }) => TrainingJobName));
      return names;
    });
  }

  async #verified(): Promise<readonly string[]> {
    const { environment, stack } = await this.#started.up();
    const program = join(PROJECT_FOLDER, 'cli/tidewheel.mjs');
    try {
      await promisify(execFile)(
        process.execPath,
        [program, 'data', 'verify', s3Uri(stack.bucket, PIPELINE)],
        {
          env: { ...process.env, ...environment },
        },
      );
      return [];
    } catch (error: unknown) {
      return [`data verify: ${messageOf(error)}`];
    }
  }
}

await runCommand(USAGE, async (args) => {
  const { kills, first, files } = readCommandLine(args, { schema }).values;
  const state = await mkdtemp(join(tmpdir(), 'tidewheel-kills-'));
  const started = new Started(state);
  let failed = 0;
  try {
    await declareCounting(await started.up(), {
      name: PIPELINE,
      quietSeconds: QUIET_SECONDS,
      steps: 6,
      stepsBetweenSaves: 1,
    });
    const campaign = new Campaign(started);
    for (let seed = first; seed < first + kills; seed += 1) {
      const { victim, atSeconds, endedSeconds, restarts, problems } = await campaign.play(seed, files);
      const when = atSeconds === undefined ? 'never came' : `killed after ${atSeconds.toFixed(1)} s`;
      const mark = problems.length === 0 ? '✓' : '✗';
      process.stdout.write(
        `${mark} ${seed}: ${victim} ${when}, ended after ${endedSeconds} s, restarts: ${restarts}\n`,
      );
      for (const problem of problems) process.stdout.write(`    ${problem}\n`);
      if (problems.length > 0) failed += 1;
    }
    process.stdout.write(`${kills - failed} of ${kills} held\n`);
    return failed === 0 ? 0 : 1;
  } finally {
    await started.stop();
    if (failed === 0) await rm(state, { recursive: true, force: true });
    else process.stdout.write(`the region's state is in ${state}\n`);
  }
});
