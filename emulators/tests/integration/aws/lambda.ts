/** Makes and invokes Lambda functions on an emulator over Lambda's plain HTTP API. */
import { crc32 } from 'node:zlib';
import { signedFetch } from '../../../../test/support/signed-fetch.ts';

const BASE = '/2015-03-31/functions';

/** @param environment its variables, besides those that the emulator gives every function */
export async function createFunction(
  url: string,
  name: string,
  code: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<string> {
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
      Code: { ZipFile: storedZip('index.mjs', code).toString('base64') },
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

/** A zip archive of one uncompressed file. */
function storedZip(name: string, text: string): Buffer {
  const data = Buffer.from(text);
  const common = Buffer.alloc(26);
  common.writeUInt16LE(20, 0);
  common.writeUInt32LE(crc32(data), 10);
  common.writeUInt32LE(data.length, 14);
  common.writeUInt32LE(data.length, 18);
  common.writeUInt16LE(name.length, 22);
  const local = Buffer.concat([Buffer.from('PK\x03\x04'), common, Buffer.from(name), data]);
  const madeBy = Buffer.from([20, 0]);
  const attributes = Buffer.alloc(14);
  attributes.writeUInt32LE(0o100644 * 0x10000, 6);
  const directory = Buffer.concat([Buffer.from('PK\x01\x02'), madeBy, common, attributes, Buffer.from(name)]);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06');
  end.writeUInt16LE(1, 8);
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(local.length, 16);
  return Buffer.concat([local, directory, end]);
}
