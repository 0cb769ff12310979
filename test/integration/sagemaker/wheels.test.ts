/** Attempts of two hosts that install as on AWS: by the image's pip, from an index that changes, and then from none. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdir, rename, symlink } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { FilterLogEventsCommand } from '@aws-sdk/client-cloudwatch-logs';
import { CreateTrainingJobCommand } from '@aws-sdk/client-sagemaker';
import { AGENT_FILES, bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { agentPublisher } from '../../../functions/aws/lambda/agent.ts';
import { declaration, launch, placement, requestOf } from '../../support/builders/launch.ts';
import { projectPython } from '../../support/emulator.ts';
import { emulatorOfSuite } from '../../support/emulator-of-suite.ts';
import { folderOfSuite } from '../../support/folders.ts';
import { type Ground, layGround } from '../../support/local-sagemaker.ts';
import { objectStoreOf } from '../../support/test-bucket.ts';

const run = promisify(execFile);
/** Adds a version of two packages to the index: one a wheel, the other to be built, by itself. */
const PUBLISH = `
import io, pathlib, sys, tarfile, zipfile
root, version = pathlib.Path(sys.argv[1]), sys.argv[2]
BACKEND = '''
import pathlib, zipfile
def build_wheel(folder, settings=None, metadata=None):
    path = pathlib.Path(folder, f"{NAME}-{VERSION}-py3-none-any.whl")
    with zipfile.ZipFile(path, "w") as wheel:
        info = f"{NAME}-{VERSION}.dist-info/"
        wheel.writestr(NAME + ".py", f"__version__ = {VERSION!r}")
        wheel.writestr(info + "METADATA", f"Metadata-Version: 2.1\\\\nName: {NAME}\\\\nVersion: {VERSION}\\\\n")
        wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\\\nRoot-Is-Purelib: true\\\\nTag: py3-none-any\\\\n")
        wheel.writestr(info + "RECORD", "")
    return path.name
'''
for name in ("fetched", "built"):
    (root / name).mkdir(parents=True, exist_ok=True)
    backend = f"NAME, VERSION = {name!r}, {version!r}" + BACKEND
    if name == "fetched":
        given = {}
        exec(backend, given)
        given["build_wheel"](root / name)
        continue
    files = {
        "backend.py": backend,
        "PKG-INFO": f"Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n",
        "pyproject.toml": '[build-system]\\nrequires = []\\nbuild-backend = "backend"\\nbackend-path = ["."]\\n',
    }
    with tarfile.open(root / name / f"{name}-{version}.tar.gz", "w:gz") as archive:
        for file, text in files.items():
            member = tarfile.TarInfo(f"{name}-{version}/{file}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
`;
const SCRIPT = `import built, fetched
print('has', built.__version__, fetched.__version__)
`;

const emulator = emulatorOfSuite();
const folder = folderOfSuite('wheels');
const packages = path.join(folder, 'packages');
let ground: Ground;
let index: ChildProcess;
let agentPrefix: string;

beforeAll(async () => {
  await publish('1.0');
  index = spawn(
    projectPython(),
    ['-u', '-m', 'http.server', '--bind', '127.0.0.1', '--directory', packages, '0'],
    {
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  const said = await new Promise<string>((resolve) =>
    createInterface({ input: index.stdout ?? process.stdin }).once('line', resolve),
  );
  const port = /port (\d+)/.exec(said)?.[1];
  ground = await layGround(emulator.url, {
    hostEnvironment: {
      PIP_INDEX_URL: `http://127.0.0.1:${port}`,
      PIP_TRUSTED_HOST: '127.0.0.1',
      PIP_RETRIES: '0',
      PYTHONPATH: await imagesPip(),
    },
  });
  const store = objectStoreOf(ground.s3, ground.bucket);
  agentPrefix = await agentPublisher(store, path.join(import.meta.dirname, '../../..'))(AGENT_FILES);
  await ground.put(`${bucketKeys.source('digits')}train.py`, SCRIPT);
  await ground.put(`${bucketKeys.source('digits')}requirements.txt`, 'fetched\nbuilt\n');
  await ground.put(`${bucketKeys.shards('digits', 'digits-000001')}0.tar`, 'a shard');
}, 60_000);

afterAll(async () => {
  index?.kill();
  await ground?.close();
}, 60_000);

const publish = (version: string) => run(projectPython(), ['-c', PUBLISH, packages, version]);

/** In the place of the one by which this machine keeps whole environments. */
async function imagesPip(): Promise<string> {
  const { stdout } = await run(projectPython(), ['-c', 'import pip; print(pip.__path__[0])']);
  await mkdir(path.join(folder, 'site'));
  await symlink(stdout.trim(), path.join(folder, 'site/pip'));
  return path.join(folder, 'site');
}

/** @returns what all hosts printed */
async function train(attempt: number, nodes: number): Promise<string> {
  const request = requestOf(
    launch({
      attempt,
      bucket: ground.bucket,
      agentPrefix,
      declaration: declaration({
        training: {
          strategy: 'multi-worker-mirrored',
          image: '000000000000.dkr.ecr.us-east-1.amazonaws.com/image:1',
          frameworkVersion: undefined,
          model: 'none',
        },
        compute: { instanceTypes: ['c5.xlarge'], nodes },
      }),
      placement: placement({
        pool: { instanceType: 'c5.xlarge', launcher: 'sagemaker', purchaseOption: 'on-demand' },
        topology: { nodes, acceleratorsPerNode: 0 },
        maximumWaitSeconds: undefined,
      }),
    }),
  );
  await ground.sageMaker.send(new CreateTrainingJobCommand(request));
  const job = await ground.ended(request.TrainingJobName ?? '');
  const { events = [] } = await ground.logs.send(
    new FilterLogEventsCommand({ logGroupName: '/aws/sagemaker/TrainingJobs' }),
  );
  const own = events.filter(({ logStreamName }) => logStreamName?.startsWith(`${request.TrainingJobName}/`));
  const log = own.map(({ message }) => message).join('\n');
  expect(job.TrainingJobStatus, `${job.FailureReason}\n${log}`).toBe('Completed');
  return log;
}

const versionsIn = (log: string): readonly string[] => log.match(/(?<=has ).*/g) ?? [];
const kept = () => ground.keys(bucketKeys.wheels('digits'));

it('installs the same packages later, without an index', async () => {
  const first = await train(1, 2);
  expect(versionsIn(first)).toEqual(['1.0 1.0', '1.0 1.0']);
  expect(first).toContain('kept 2 versions and 2 wheels for later attempts');
  expect(await kept()).toHaveLength(1);
  await publish('2.0');
  await rename(packages, `${packages}-away`);
  const second = await train(2, 2);
  expect(versionsIn(second)).toEqual(['1.0 1.0', '1.0 1.0']);
  expect(second.match(/installed 2 wheels that an earlier attempt kept/g)).toHaveLength(2);
}, 90_000);

it('installs the same versions where a wheel is damaged', async () => {
  const [key = ''] = await kept();
  const whole = await ground.get(key);
  const damaged = Buffer.from(whole);
  damaged.write('__VERSION__', damaged.indexOf('__version__'));
  await ground.put(key, damaged);
  await rename(`${packages}-away`, packages);
  const third = await train(3, 1);
  expect(third).toMatch(/wheels of an earlier attempt cannot be used: \S+ is damaged/);
  expect(versionsIn(third)).toEqual(['1.0 1.0']);
  expect((await ground.get(key)).includes('__VERSION__')).toBe(false);
}, 90_000);
