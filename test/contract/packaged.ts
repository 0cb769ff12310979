/**
 * The CloudFormation template as `osls package` writes it, made without AWS and with credentials that open nothing. Kept
 * in the temporary folder by the content of everything that goes into it: several test files share one packaging.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

export interface Resource {
  readonly Type: string;
  readonly Condition?: string;
  readonly Properties: Readonly<Record<string, unknown>>;
  readonly DeletionPolicy?: string;
  readonly DependsOn?: string | readonly string[];
}

export interface Template {
  readonly Conditions?: Readonly<Record<string, unknown>>;
  readonly Resources: Readonly<Record<string, Resource>>;
  readonly Outputs?: Readonly<Record<string, unknown>>;
}

export interface Packaged {
  /** Folder of the template and of a zip for each function. */
  readonly folder: string;
  readonly templateFile: string;
  readonly template: Template;
}

/** What decides the package; the lock stands for node_modules. */
const SOURCES = [
  'serverless.yml',
  'serverless',
  'statemachines',
  'functions',
  'packages',
  'training/agent',
  'training/automatic',
  'training/instrument',
  'package-lock.json',
];
const run = promisify(execFile);

const KEPT = join(tmpdir(), 'tidewheel-packages');
/** A packaging that takes longer has died; so has the user of a package for longer. */
const STALE_MILLISECONDS = 15 * 60_000;
const LOOK_MILLISECONDS = 500;

export async function packaged(): Promise<Packaged> {
  const folder = join(KEPT, digestOf(SOURCES));
  mkdirSync(KEPT, { recursive: true });
  while (!exists(folder)) {
    if (takeTurn(`${folder}.turn`))
      await packageInto(folder, KEPT).finally(() => rmSync(`${folder}.turn`, { force: true }));
    else await sleep(LOOK_MILLISECONDS);
  }
  const templateFile = join(folder, 'cloudformation-template-update-stack.json');
  return { folder, templateFile, template: JSON.parse(readFileSync(templateFile, 'utf8')) as Template };
}

/** Of the test processes that need the same package one makes it and the others wait. */
function takeTurn(turn: string): boolean {
  for (const name of readdirSync(KEPT)) {
    const path = join(KEPT, name);
    const made = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - made > STALE_MILLISECONDS) rmSync(path, { recursive: true, force: true });
  }
  try {
    writeFileSync(turn, String(process.pid), { flag: 'wx' });
    return true;
  } catch {
    if (!isAlive(turn)) rmSync(turn, { force: true });
    return false;
  }
}

/** A process that was killed at its turn would keep the others waiting for nothing. */
function isAlive(turn: string): boolean {
  try {
    const maker = Number(readFileSync(turn, 'utf8'));
    // It has made its file and not written its name yet.
    return maker === 0 || process.kill(maker, 0);
  } catch (error: unknown) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/** Renamed when whole, so that another test process never sees half a package. */
async function packageInto(folder: string, kept: string): Promise<void> {
  const fresh = mkdtempSync(join(kept, 'making-'));
  const build = join('.esbuild', `contract-${process.pid}`);
  const temporary = mkdtempSync(join(kept, 'temporary-'));
  const { AWS_PROFILE: _, AWS_ENDPOINT_URL: __, ...environment } = process.env;
  await run(join('node_modules', '.bin', 'osls'), ['package', '--package', fresh], {
    env: {
      ...environment,
      AWS_ACCESS_KEY_ID: 'none',
      AWS_SECRET_ACCESS_KEY: 'none',
      AWS_REGION: 'us-east-1',
      TMPDIR: temporary,
      // A build folder of its own: a deployment in the same clone may be bundling too.
      TIDEWHEEL_BUILD_FOLDER: build,
      SLS_TELEMETRY_DISABLED: '1',
      SLS_NOTIFICATIONS_MODE: 'off',
    },
  });
  rmSync(build, { recursive: true, force: true });
  const left = readdirSync(temporary);
  rmSync(temporary, { recursive: true, force: true });
  if (left.length > 0) throw new Error(`osls left in the temporary folder: ${left.join(', ')}`);
  try {
    renameSync(fresh, folder);
  } catch (error) {
    rmSync(fresh, { recursive: true });
    if (!exists(folder)) throw error;
  }
}

function digestOf(paths: readonly string[]): string {
  const hash = createHash('sha256');
  for (const path of paths.flatMap(filesUnder).toSorted())
    hash.update(path).update('\0').update(readFileSync(path));
  return hash.digest('hex').slice(0, 24);
}

function filesUnder(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path)
    .filter((name) => !name.startsWith('__pycache__'))
    .flatMap((name) => filesUnder(join(path, name)));
}

const exists = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined;

/** Logical ids and properties of all resources of a type. */
export const ofType = (template: Template, type: string): [string, Resource][] =>
  Object.entries(template.Resources).filter(([, resource]) => resource.Type === type);
