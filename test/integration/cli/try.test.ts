/** `tidewheel try` with real processes: scripts that save, that do not, that resume, that do not. */
import { execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { trainingSchema } from '@tidewheel/declaration/pipeline.ts';
import { expect, it, onTestFinished } from 'vitest';
import { playPhase } from '../../../cli/try/phase.ts';
import { writeAgent } from '../../../functions/aws/lambda/agent.ts';
import { undocumented } from '../../support/documented.ts';
import { projectPython } from '../../support/emulator.ts';
import { folderOfSuite } from '../../support/folders.ts';
import { pythonWithoutNamespaces } from '../../support/without-namespaces.ts';

const run = promisify(execFile);
const COMMAND = path.join(import.meta.dirname, '../../../cli/tidewheel.mjs');

const folder = folderOfSuite('try');

/** A loop over steps; `resume` and `save` are lines of Python. */
const loop = ({ resume = '', save = '' }) => `
import json, os, pathlib, sys, time
checkpoints = pathlib.Path(os.environ["TIDEWHEEL_CHECKPOINT_DIR"])
step = 0
def write(folder, step):
    target = folder / f"step-{step:08d}"
    target.mkdir(parents=True, exist_ok=True)
    (target / "state").write_text("saved")
    (target / "COMPLETE.json").write_text(json.dumps({"step": step, "totalSteps": 5000, "files": {"state": {"bytes": 5}}}))
${resume}
while step < 5000:
    step += 1
    time.sleep(0.02)
    print("step", step, flush=True)
    if step % 20 == 0:
        pass
        ${save}
`;
/** By the absolute path that the start before has noted, as frameworks do. */
const RESUME = `
newest = checkpoints / "newest"
step = int(sorted(pathlib.Path(newest.read_text()).iterdir())[0].parent.name[5:]) if newest.exists() else 0`;
const SAVE =
  'write(checkpoints, step); (checkpoints / "newest").write_text(f"{checkpoints.resolve()}/step-{step:08d}")';

interface Result {
  readonly code: number;
  readonly text: string;
}

const attempt = (name: string, script: string | undefined, ...words: string[]): Promise<Result> =>
  attemptBy(projectPython(), name, script, ...words);

async function attemptBy(
  python: string,
  name: string,
  script: string | undefined,
  ...words: string[]
): Promise<Result> {
  const source = path.join(folder, name);
  if (script !== undefined) {
    await mkdir(source, { recursive: true });
    await writeFile(path.join(source, 'train.py'), script);
  }
  const args = [COMMAND, 'try', source, '--seconds', '3', '--grace', '2', ...words];
  const env = { ...process.env, TIDEWHEEL_PYTHON: python };
  try {
    return { code: 0, text: (await run(process.execPath, args, { env })).stdout };
  } catch (error: unknown) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, text: stdout + stderr };
  }
}

it('a script that saves and resumes is ready', async () => {
  const { code, text } = await attempt(
    'good',
    loop({ resume: RESUME, save: SAVE }),
    '--json',
    '--seconds',
    '10',
  );
  const result = JSON.parse(text) as {
    verdict: string;
    restored: string[];
    cost: { hoursHere?: number };
    phases: {
      endedBy: string;
      before?: { step: number };
      after: { step: number };
      printed: { first: number };
    }[];
  };
  expect(undocumented('try', result)).toEqual([]);
  expect(result).toMatchObject({ verdict: 'ready', restored: ['yes', 'yes'] });
  expect(code).toBe(0);
  expect(result.phases.map(({ endedBy }) => endedBy)).toEqual(['warning', 'kill', 'kill']);
  const [first, second] = result.phases;
  expect(second?.before?.step).toBe(first?.after.step);
  expect(second?.printed.first).toBe((first?.after.step ?? 0) + 1);
  expect(result.cost.hoursHere).toBeGreaterThan(0);
});

it('without namespaces a source that names /opt/ml is refused', async () => {
  const python = await pythonWithoutNamespaces(folder);
  const script = 'open("/opt/ml/checkpoints/a.pt", "w")';
  const { code, text } = await attemptBy(python, 'fixed', script);
  expect(code).toBe(1);
  expect(text).toContain('scripts that remember absolute paths cannot be trusted here');
  expect(text).toMatch(/started +train\.py did not start yet, then ended by itself with 1\n/);
  expect(text).toMatch(
    /failed +start: Cannot start: train\.py \(\/opt\/ml\/checkpoints\/a\.pt\): all runs here would share \/opt\/ml; write /,
  );
});

it('seconds begin once requirements are installed, and those stay', async () => {
  const home = await mkdtemp(path.join(folder, 'slow-'));
  const program = path.join(
    import.meta.dirname,
    '../../../emulators/tests/integration/environments/package_index.py',
  );
  const index = spawn(projectPython(), ['-B', program, path.join(home, 'index'), '4'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void index.kill());
  const requested: string[] = [];
  const lines = createInterface({ input: index.stdout }).on('line', (line) => requested.push(line));
  await new Promise((resolve) => lines.once('line', resolve));
  const source = path.join(home, 'source');
  await mkdir(source);
  await writeFile(path.join(source, 'train.py'), `import slow${loop({ save: 'write(checkpoints, step)' })}`);
  await writeFile(path.join(source, 'requirements.txt'), 'slow==1.0\n');
  const trial = {
    folder: source,
    training: trainingSchema.parse({ strategy: 'single' }),
    channels: {},
    agentFile: path.join(home, 'agent.pyz'),
    pythonPath: projectPython(),
    environmentsDirectory: path.join(home, 'environments'),
    graceSeconds: 2,
    masterPort: 21_500,
    environment: { PIP_INDEX_URL: `http://127.0.0.1:${requested[0]}` },
  };
  await writeAgent(path.join(import.meta.dirname, '../../..'), trial.agentFile);
  const tried = async (name: string) => {
    const work = path.join(home, name);
    await mkdir(work);
    return playPhase(
      { ...trial, work },
      {
        name,
        strike: 'kill',
        seconds: 3,
        onwardSeconds: 0.1,
        earlier: undefined,
        signal: new AbortController().signal,
      },
    );
  };
  const first = await tried('a');
  expect(first).toMatchObject({ endedBy: 'kill', saves: 1, printed: { first: 1 } });
  expect(first.seconds).toBeLessThan(4);
  const before = requested.length;
  expect(await tried('b')).toMatchObject({ endedBy: 'kill', saves: 1 });
  expect(requested).toHaveLength(before);
});

it('a script that begins again is caught', async () => {
  const { code, text } = await attempt('forgets', loop({ save: 'write(checkpoints, step)' }));
  expect(code).toBe(1);
  expect(text).toMatch(/resumed +began again at step 1 although step \d+ of 5000 was there/);
  expect(text).toMatch(/change +training\.arguments: .*\$\{checkpoints\}\/step-\*\?/);
  expect(text).toMatch(/verdict +restores nothing\n/);
  expect(text.trim().split('\n').length).toBeLessThanOrEqual(15);
});

it('scripts that save nothing, fail, end or hang', async () => {
  const declaration = path.join(folder, 'elsewhere.yaml');
  await writeFile(
    declaration,
    'name: elsewhere\ntraining: { strategy: single }\ncompute: { instanceTypes: [g5.xlarge] }\n',
  );
  // These end by themselves, on a busy machine later.
  const patiently = ['--seconds', '30'];
  const results = await Promise.all([
    attempt('never', loop({})),
    attempt('fails', 'import nothing_like_this', ...patiently),
    attempt('ends', 'print("done")', ...patiently),
    attempt('hangs', 'import time; time.sleep(600)'),
    attempt(
      'elsewhere',
      loop({ save: 'pathlib.Path("out").mkdir(exist_ok=True); pathlib.Path("out/last.pt").write_text("x")' }),
      '--declaration',
      declaration,
    ),
    attempt(
      'ranked',
      '# DistributedDataParallel\nimport os; print("rank", os.environ["RANK"])',
      ...patiently,
    ),
  ]);
  expect(results.map(({ code }) => code)).toEqual([1, 1, 1, 1, 1, 1]);
  const [never, fails, ends, hangs, elsewhere, ranked] = results.map(({ text }) => text);
  expect(never).toMatch(/verdict +saves nothing/);
  expect(fails).toMatch(/failed +start: .*No module named 'nothing_like_this'/);
  expect(ends).toMatch(/verdict +ends before anything can be interrupted/);
  expect(hangs).toMatch(/verdict +hangs/);
  expect(elsewhere).toContain("training.checkpoint: { folder: 'out' }");
  expect(ranked).toMatch(/init would declare it \(ddp\)[^]*verdict +ends before anything/);
});

it('a declaration starts the script as it says', async () => {
  const declaration = `
name: digits
packing: { format: webdataset }
training:
  strategy: single
  entryPoint: main.py
  arguments: ['--mark=\${checkpoints}', --flag]
  environment: { MARK: declared }
compute: { instanceTypes: [c5.xlarge] }
limits: { maximumRunSeconds: 3600 }
`;
  const source = path.join(folder, 'declared');
  await mkdir(source);
  await writeFile(path.join(source, 'pipeline.yaml'), declaration);
  await writeFile(
    path.join(source, 'main.py'),
    'import os, sys; sys.exit(f"{sys.argv[1:]} {os.environ[\'MARK\']}")',
  );
  const { text } = await attempt('declared', undefined, '--env', 'MARK=typed');
  expect(text).toMatch(/\['--mark=.*\/opt\/ml\/checkpoints', '--flag'\] typed/);
  expect(text).toContain('c5.xlarge');
  await writeFile(path.join(source, 'pipeline.yaml'), declaration.replace('single', 'sinlge'));
  expect(await attempt('declared', undefined)).toMatchObject({
    code: 8,
    text: expect.stringContaining('training.strategy'),
  });
});

it('everything that was typed wrongly is named at once', async () => {
  const typed = ['--channel', 'train=/no/such', '--channel', 'x', '--env', 'y', '--declaration', '/no/file'];
  const { code, text } = await attempt('missing', undefined, ...typed, '--seconds', '0', '--badoption');
  expect(code).toBe(8);
  expect(text.split('\n').filter((line) => line.startsWith('✗'))).toEqual([
    '✗ there is no option --badoption',
    '✗ --env is "y": write NAME=VALUE',
    '✗ --channel is "train=/no/such": there is no folder /no/such',
    '✗ --channel is "x": write NAME=PATH',
    '✗ --declaration is "/no/file": there is no such file',
    '✗ --seconds is "0": write a number above 0',
    expect.stringMatching(/^✗ FOLDER is ".*missing": there is no such folder$/),
  ]);
});
