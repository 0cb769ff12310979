/** The jobs on disk: one JSON file each, replaced as a whole, so that Describe and List survive a restart. */
import { mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseJson } from '@tidewheel/kit/json.ts';
import { readVersioned, whyUnread } from '@tidewheel/kit/stored.ts';
import { isTable } from '@tidewheel/kit/tables.ts';
import { type JobRecord, jobRecordSchema } from './job-record.ts';

export interface JobStore {
  directoryOf(name: string): string;
  /** Reports an unreadable record and leaves its file. */
  load(log: (line: string) => void): Promise<readonly JobRecord[]>;
  save(record: JobRecord): Promise<void>;
  /** Notes that the server, and with it the hosts of all jobs, were alive at this time. */
  noteAlive(now: number): Promise<void>;
  /** The last such time; undefined if none was noted. */
  lastAlive(): Promise<number | undefined>;
  /** What the hosts had on disk. */
  removeHosts(name: string): Promise<void>;
}

const RECORD_FILE = 'job.json';
const ALIVE_FILE = 'alive';

export async function openJobStore(stateDirectory: string): Promise<JobStore> {
  const jobs = join(stateDirectory, 'jobs');
  // Hyperparameters and environments are for this user alone.
  await mkdir(jobs, { recursive: true, mode: 0o700 });
  // One write after another for a job: a late old state must not replace a newer one.
  const tails = new Map<string, Promise<void>>();
  const directoryOf = (name: string): string => join(jobs, name);
  return {
    directoryOf,
    load: (log) => loadAll(jobs, log),
    save: (record) => {
      const next = (tails.get(record.name) ?? Promise.resolve()).then(
        () => writeRecord(directoryOf(record.name), record),
        () => writeRecord(directoryOf(record.name), record),
      );
      tails.set(record.name, next);
      return next;
    },
    noteAlive: (now) => writeFile(join(stateDirectory, ALIVE_FILE), String(now)),
    lastAlive: async () => {
      const noted = await readFile(join(stateDirectory, ALIVE_FILE), 'utf8').catch(() => '');
      return noted === '' || Number.isNaN(Number(noted)) ? undefined : Number(noted);
    },
    removeHosts: async (name) => {
      for (const folder of ['hosts', 'scratch']) {
        await rm(join(directoryOf(name), folder), { recursive: true, force: true }).catch(() => {});
      }
    },
  };
}

/** Release 0.1.0 wrote no version. */
const RECORD = { version: 1, schema: jobRecordSchema, upgrade: (before: object) => ({ ...before }) };

async function loadAll(jobs: string, log: (line: string) => void): Promise<readonly JobRecord[]> {
  const records: JobRecord[] = [];
  for (const name of (await readdir(jobs)).toSorted()) {
    const text = await readFile(join(jobs, name, RECORD_FILE), 'utf8').catch(() => '');
    const content = parseJson(text);
    const reading = readVersioned(RECORD, isTable(content) ? { version: 0, ...content } : content);
    if (reading.kind !== 'read')
      log(`${whyUnread(`the job in ${join(jobs, name)}`, RECORD, reading)}; it is left alone`);
    else if (reading.value.name === name) records.push(reading.value);
    else log(`the job in ${join(jobs, name)} has another name, and is left alone`);
  }
  return records;
}

async function writeRecord(directory: string, record: JobRecord): Promise<void> {
  await mkdir(directory, { recursive: true });
  const temporary = join(directory, `.${RECORD_FILE}.new`);
  const file = await open(temporary, 'w');
  try {
    await file.writeFile(`${JSON.stringify({ version: RECORD.version, ...record }, null, 1)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, join(directory, RECORD_FILE));
}
