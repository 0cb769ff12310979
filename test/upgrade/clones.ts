/** Clones of other releases below .tidewheel/releases, set up as their own `npm run setup` does it. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { RELEASE } from '@tidewheel/kit/stored.ts';

export const ROOT = path.join(import.meta.dirname, '../..');

interface Edit {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

const HOST = 'emulators/ec2/host.ts';

/**
 * On AWS, bash runs the start script of any release. The local EC2 of 0.1.0 reads its own script alone, so that it gets
 * what reads a script that fetches a folder. (boot-plan.ts is this release's as a whole.)
 */
const STARTS_LATER_HOSTS: readonly Edit[] = [
  {
    file: HOST,
    from: 'import { downloadObject, parseS3Uri }',
    to: 'import { downloadObject, listObjects, parseS3Uri }',
  },
  {
    file: HOST,
    from: '  await downloadObject(s3, parseS3Uri(plan.agentUri), join(folder, agent));',
    to: `  const { bucket, key: prefix } = parseS3Uri(plan.agentUri);
  for (const { key } of await listObjects(s3, { bucket, key: prefix }))
    await downloadObject(s3, { bucket, key }, join(folder, plan.agentFolder, key.slice(prefix.length)));`,
  },
];

/** It gives packaging 300 s, however loaded the machine is, and takes a function that is held for one that failed. */
const IS_PATIENT: readonly Edit[] = [
  { file: 'emulators/region/osls.ts', from: '= 300_000;', to: '= 3_000_000;' },
  {
    file: 'emulators/aws/invocations.py',
    from: `'"Reason": "ConcurrentInvocationLimitExceeded"'`,
    to: `'ConcurrentInvocationLimitExceeded"'`,
  },
];

const raised = (file: string, from: string): Edit => ({ file, from, to: from.replace('1', '2') });

/** A release after this one in which the version of every record and document of the service was raised. */
export const RAISES_VERSIONS: readonly Edit[] = [
  { file: 'packages/kit/stored.ts', from: `RELEASE = '${RELEASE}'`, to: "RELEASE = '99.0.0'" },
  {
    file: 'packages/kit/stored.ts',
    from: "  upgrade?: StoredKind['upgrade'],\n): StoredKind<Schema> => ({",
    to: "  upgrade: StoredKind['upgrade'] = (before) => before,\n): StoredKind<Schema> => ({",
  },
  {
    file: 'functions/records/stored-records.ts',
    from: '= { version: 1 };',
    to: '= { version: 2, upgrade: (before) => before };',
  },
  raised('packages/packing/documents/documents.ts', 'DOCUMENT_VERSION = 1;'),
  raised('functions/records/record-copies.ts', 'const VERSION = 1;'),
  raised('functions/records/models.ts', 'FILE_VERSION = 1;'),
  raised('functions/records/ended.ts', 'REPORT_VERSION = 1;'),
  raised('functions/records/judgement.ts', 'version: z.literal(1)'),
  raised('functions/run/models/judge-model.ts', '{ version: 1, runId'),
];

const run = (cwd: string, command: string, ...args: readonly string[]): void =>
  void execFileSync(command, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'] });

/** @returns its folder */
export function cloneOf(release: string, commit: string): string {
  const folder = clone(release, commit);
  // A later release has what its hosts' start script needs.
  if (release !== '0.1.0') return folder;
  const plan = 'emulators/ec2/boot-plan.ts';
  writeFileSync(path.join(folder, plan), readFileSync(path.join(ROOT, plan)));
  for (const each of [...STARTS_LATER_HOSTS, ...IS_PATIENT]) edit(folder, each);
  return folder;
}

/** @returns the folder of a release that was made from the newest commit */
export function nextRelease(): string {
  const folder = clone('next', 'HEAD');
  const head = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: ROOT, encoding: 'utf8' }).trim();
  run(folder, 'git', 'checkout', '--quiet', '--force', head);
  for (const each of RAISES_VERSIONS) edit(folder, each);
  return folder;
}

function clone(name: string, commit: string): string {
  const folder = path.join(ROOT, '.tidewheel/releases', name);
  if (!existsSync(folder)) run(ROOT, 'git', 'worktree', 'add', '--detach', folder, commit);
  run(folder, process.execPath, 'cli/bootstrap.mjs', 'setup');
  return folder;
}

/** @throws Error where the file says something else: the play would prove nothing */
function edit(folder: string, { file, from, to }: Edit): void {
  const at = path.join(folder, file);
  const text = readFileSync(at, 'utf8');
  if (text.includes(to)) return;
  if (!text.includes(from)) throw new Error(`${at} does not say ${from}: correct ${import.meta.filename}`);
  writeFileSync(at, text.replace(from, to));
}
