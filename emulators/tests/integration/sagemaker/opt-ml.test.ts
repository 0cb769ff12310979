/** What a host's program finds as /opt/ml, with the kernel's namespaces and without them. */
import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { projectPython } from '../../../../test/support/emulator.ts';
import { folderOfSuite } from '../../../../test/support/folders.ts';
import { hasNamespaces, pythonWithoutNamespaces } from '../../../../test/support/without-namespaces.ts';
import { startHost } from '../../../sagemaker/hosts/host-process.ts';
import { canShowOptMl } from '../../../sagemaker/hosts/opt-ml.ts';

const folder = folderOfSuite('opt-ml');
let withoutNamespaces: string;
beforeAll(async () => {
  withoutNamespaces = await pythonWithoutNamespaces(folder);
});

const PROGRAM = 'import os, sys; print("\\n".join([os.environ["SAGEMAKER_BASE_DIR"], *sys.argv[1:]]))';
const WORDS = [
  '/opt/ml',
  '--in=/opt/ml/input:/opt/ml/model',
  "chmod +x '/opt/ml/a b' && /opt/ml/run",
  '/srv/opt/ml/x',
  '/opt/mlflow',
  '../opt/ml',
];

/** @returns SAGEMAKER_BASE_DIR and the words, as a program of the host gets them */
async function seenBy(python: string, base: string): Promise<readonly string[]> {
  await mkdir(base);
  const host = startHost(python, {
    command: [projectPython(), '-c', PROGRAM, ...WORDS],
    environment: { TMPDIR: folder, SAGEMAKER_BASE_DIR: '/opt/ml' },
    directory: folder,
    optMl: base,
  });
  host.stderr.resume();
  return (await text(host.stdout)).trimEnd().split('\n');
}

test.skipIf(!hasNamespaces)('with namespaces a program gets what it was sent', async () => {
  expect(await canShowOptMl(projectPython(), folder)).toBe(true);
  expect(await seenBy(projectPython(), path.join(folder, 'seen'))).toEqual(['/opt/ml', ...WORDS]);
});

/** A machine (a /opt of its own) changes its /opt/ml by the first argument while a host has its own there. */
const CHANGED = `
import os, pathlib, sys, tempfile
sys.path.insert(0, os.getcwd())
import opt_ml
opt_ml._own_namespaces()
opt_ml.mount("none", "/", "", opt_ml.MS_REC | opt_ml.MS_PRIVATE)
opt_ml.mount("tmpfs", "/opt", "tmpfs", 0)
machine = pathlib.Path("/opt/ml")
if sys.argv[1] == "dangles":
    machine.symlink_to("/nowhere")
elif sys.argv[1] != "appears":
    machine.mkdir()
base, scratch = tempfile.mkdtemp(dir=sys.argv[2]), tempfile.mkdtemp(dir=sys.argv[2])
shown, changed = os.pipe(), os.pipe()
if os.fork() == 0:
    opt_ml.show(base, scratch)
    os.write(shown[1], b".")
    os.read(changed[0], 1)
    pathlib.Path("/opt/ml/checkpoints").mkdir(parents=True)
    os._exit(0)
os.close(shown[1])
os.read(shown[0], 1)
if sys.argv[1] == "goes":
    machine.rmdir()
elif sys.argv[1] == "moves":
    machine.rename("/opt/moved")
elif sys.argv[1] == "appears":
    machine.mkdir()
os.write(changed[1], b".")
os.wait()
print(os.listdir(base), os.listdir(machine) if machine.is_dir() else [])
`;

test.skipIf(!hasNamespaces).each(['stays', 'goes', 'moves', 'appears', 'dangles'])(
  'a host writes to its own /opt/ml while that of the machine %s',
  async (change) => {
    const written = await promisify(execFile)(projectPython(), ['-c', CHANGED, change, folder], {
      cwd: path.join(import.meta.dirname, '../../../sagemaker/hosts'),
    });
    expect(written.stdout.trim()).toBe("['checkpoints'] []");
  },
);

/** Runs the words as a user without rights, whose files are this one's. */
const AS_ANOTHER = `
import ctypes, os, pathlib, sys
user, group = os.getuid(), os.getgid()
assert ctypes.CDLL(None).unshare(0x10000000) == 0
pathlib.Path("/proc/self/setgroups").write_text("deny")
pathlib.Path("/proc/self/uid_map").write_text(f"1000 {user} 1")
pathlib.Path("/proc/self/gid_map").write_text(f"1000 {group} 1")
os.execv(sys.argv[1], sys.argv[1:])
`;

test.skipIf(!hasNamespaces)('a host without root has its own /opt/ml', async () => {
  const python = projectPython();
  const started = ['-c', AS_ANOTHER, python, '-c', `import os\nassert os.getuid() == 1000${CHANGED}`];
  const written = await promisify(execFile)(python, [...started, 'stays', folder], {
    cwd: path.join(import.meta.dirname, '../../../sagemaker/hosts'),
  });
  expect(written.stdout.trim()).toBe("['checkpoints'] []");
});

/** Saves where it always does, waits for the other, and says what lies there. */
const SAVES = `
import os, pathlib, sys, time
mine, other = sys.argv[1:]
folder = pathlib.Path("/opt/ml/checkpoints")
folder.mkdir()
(folder / pathlib.Path(mine).name).touch()
pathlib.Path(mine).touch()
while not os.path.exists(other): time.sleep(0.02)
print(os.listdir(folder))
`;

test.skipIf(!hasNamespaces)('two runs at the literal path see only their own', async () => {
  const flags = ['one', 'other'].map((name) => path.join(folder, name));
  const saved = flags.map(async (mine, index) => {
    const base = path.join(folder, `base-${index}`);
    await mkdir(base);
    const host = startHost(projectPython(), {
      command: [projectPython(), '-c', SAVES, mine, flags[1 - index] ?? ''],
      environment: { TMPDIR: folder },
      directory: folder,
      optMl: base,
    });
    host.stderr.resume();
    return (await text(host.stdout)).trim();
  });
  expect(await Promise.all(saved)).toEqual(["['one']", "['other']"]);
});

test('without them its own folder stands for /opt/ml', async () => {
  expect(await canShowOptMl(withoutNamespaces, folder)).toBe(false);
  const base = path.join(folder, 'not seen');
  expect(await seenBy(withoutNamespaces, base)).toEqual([
    base,
    base,
    `--in=${base}/input:${base}/model`,
    `chmod +x '${base}/a b' && ${base}/run`,
    ...WORDS.slice(3),
  ]);
});

test('what a host needs must stay in sight', async () => {
  expect(await canShowOptMl(projectPython(), path.join(folder, 'hidden'))).toBe(false);
});
