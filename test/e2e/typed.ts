/** A pipeline without data whose script starts as its author typed it, with arguments that a shell or a launcher would change. */
import { PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { bucketKeys, s3Uri } from '@tidewheel/contract/bucket-keys.ts';
import { parse, stringify } from 'yaml';

export const TYPED = 'typed';

/**
 * Prints what it got, with names for the folders of its host. Saves until it is warned; once it resumes, or begins from a
 * model, it ends.
 */
const SCRIPT = `
import json, os, pathlib, sys, time
import tidewheel
folder = pathlib.Path(tidewheel.checkpoint_dir())
model = os.environ.get('SM_CHANNEL_MODEL', 'none')
names = {str(folder): 'CHECKPOINTS', model: 'MODEL', os.environ['SM_CHANNEL_IMAGES']: 'IMAGES', os.getcwd(): 'SOURCE'}
got = [*sys.argv[1:], os.environ['HOSTILE'], *os.listdir(sys.argv[1]), f"marked {os.path.exists('mark')}"]
for path, name in names.items():
    got = [text.replace(path, name) for text in got]
print('GOT', json.dumps(got), flush=True)
resumes = any(argument.startswith(('--resume=', '--init=')) for argument in sys.argv)
if model != 'none':
    print('BEGINS', pathlib.Path(model, 'model').read_text(), flush=True)
for step in range(1, 60):
    if resumes or tidewheel.stop_soon():
        break
    unfinished = folder / 'unfinished'
    unfinished.write_text(json.dumps({'step': step}))
    unfinished.rename(folder / f'at-{step}.json')
    time.sleep(2)
if not resumes:
    raise SystemExit(143)
pathlib.Path(os.environ['SM_MODEL_DIR'], 'model').write_text('done')
`;

/** What a shell or a YAML reader would change. */
const TYPED_TEXTS = ['fit', '--amp', '--lr=0.0', '--', '$(touch mark); `id` $$', 'é\n', ''];
const HOSTILE = '$(touch mark)';

/** What the script prints: first without a checkpoint, then with one, then in the next run with the model. */
export const GOT = [[], ['--resume=CHECKPOINTS/at-1.json'], ['--init=MODEL']].map((resume) => [
  'IMAGES',
  '--out_dir=CHECKPOINTS',
  ...resume,
  ...TYPED_TEXTS,
  '0.0',
  '1e-4',
  'True',
  `${HOSTILE} SOURCE`,
  '1.png',
  'marked False',
]);

/** @param digits the demo's declaration, for its compute and network */
export async function putTyped(s3: S3Client, bucket: string, digits: string): Promise<string> {
  const put = (Key: string, Body: string) => s3.send(new PutObjectCommand({ Bucket: bucket, Key, Body }));
  await put(`${bucketKeys.source(TYPED)}train.py`, SCRIPT);
  await put(`${bucketKeys.source(TYPED)}run.sh`, 'exec python train.py "$@"\n');
  await put(`${TYPED}/images/1.png`, 'an image');
  const declaration = parse(digits) as { readonly compute: object };
  // Unquoted, as a person types them.
  return stringify({
    ...declaration,
    name: TYPED,
    promote: 'always',
    training: {
      strategy: 'single',
      framework: 'pytorch',
      frameworkVersion: '2.13',
      command: ['bash', 'run.sh', '${channel:images}'],
      arguments: [
        '--out_dir=${checkpoints}',
        '--resume=${checkpoints}/at-1.json?',
        '--init=${channel:model}?',
        ...TYPED_TEXTS.map((text) => text.replaceAll('$', '$$$$')),
        'NUMBERS',
      ],
      environment: { HOSTILE: `${HOSTILE} \${source}` },
      startFrom: 'current',
      checkpoint: { pattern: 'at-*.json' },
      channels: { images: { s3: s3Uri(bucket, `${TYPED}/images/`) } },
    },
    compute: { ...declaration.compute, nodes: 1 },
  }).replace('- NUMBERS', '- 0.0\n    - 1e-4\n    - True');
}
