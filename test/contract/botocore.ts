/** AWS's service models, as the botocore in the project's .venv carries them. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { ServiceModel } from '@tidewheel/emulators/sagemaker/api/service-model.ts';

const PYTHON = join(import.meta.dirname, '../../.venv/bin/python');

/**
 * @param service folder of botocore/data such as sagemaker/2017-07-24
 * @param python of another environment with another botocore
 */
export function loadModel(service: string, python = PYTHON): ServiceModel {
  const { folder } = botocore(python);
  const file = join(folder, 'data', ...service.split('/'), 'service-2.json.gz');
  return JSON.parse(gunzipSync(readFileSync(file)).toString('utf8')) as ServiceModel;
}

export function botocore(python = PYTHON): { readonly folder: string; readonly version: string } {
  const code = 'import botocore; print(botocore.__path__[0]); print(botocore.__version__)';
  const [folder = '', version = ''] = execFileSync(python, ['-c', code], { encoding: 'utf8' }).split('\n');
  return { folder, version };
}
