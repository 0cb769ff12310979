/** Makes and invokes Lambda functions on an emulator over Lambda's plain HTTP API. */
import { zipOf } from '@tidewheel/kit/zip.ts';
import { signedFetch } from '../../../../test/support/signed-fetch.ts';

const BASE = '/2015-03-31/functions';

/**
 * @param code text of `index.mjs`, or of each file by name
 * @param environment its variables, besides those that the emulator gives every function
 */
export async function createFunction(
  url: string,
  name: string,
  code: string | Readonly<Record<string, string>>,
  environment: Readonly<Record<string, string>> = {},
): Promise<string> {
  const files = Object.entries(typeof code === 'string' ? { 'index.mjs': code } : code);
  const zip = zipOf(files.map(([file, text]) => ({ name: file, bytes: Buffer.from(text) })));
  const response = await signedFetch(url + BASE, {
    service: 'lambda',
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      FunctionName: name,
      Runtime: 'nodejs24.x',
      Handler: 'index.handler',
      Role: 'arn:aws:iam::000000000000:role/none',
      Timeout: 60,
      Environment: { Variables: environment },
      Code: { ZipFile: zip.toString('base64') },
    }),
  });
  if (!response.ok) throw new Error(`CreateFunction ${response.status}: ${await response.text()}`);
  const { FunctionArn } = (await response.json()) as { FunctionArn: string };
  return FunctionArn;
}

/** What Lambda answers: the payload, or the error's own payload. */
export async function invoke(url: string, name: string): Promise<Record<string, unknown>> {
  const response = await signedFetch(`${url}${BASE}/${name}/invocations`, {
    service: 'lambda',
    method: 'POST',
    body: '{}',
  });
  return (await response.json()) as Record<string, unknown>;
}
