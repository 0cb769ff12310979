/** Stands before an S3 server and counts the requests by operation. It can tell when the n-th write comes. */
import http from 'node:http';
import { serveLocally } from '@tidewheel/emulators/access/local-server.ts';

export interface CountingProxy {
  readonly url: string;
  /** By operation, since the last call. */
  taken(): Record<string, number>;
  /** Called once with the n-th PUT or POST from now on, before it is passed on (`lost`) or after it was (`done`). */
  atWrite(number: number, when: 'lost' | 'done', act: () => void): void;
  stop(): Promise<void>;
}

export async function startProxy(target: string): Promise<CountingProxy> {
  const { hostname, port } = new URL(target);
  let counts = new Map<string, number>();
  let planned: { left: number; readonly when: 'lost' | 'done'; readonly act: () => void } | undefined;
  const dueNow = (method: string) => {
    if (planned === undefined || method === 'GET' || method === 'HEAD') return undefined;
    planned.left -= 1;
    if (planned.left > 0) return undefined;
    const due = planned;
    planned = undefined;
    return due;
  };
  const agent = new http.Agent({ keepAlive: true });
  const server = await serveLocally((request, response) => {
    const { method = 'GET', url = '/', headers } = request;
    const kind = operationOf(method, url);
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
    const due = dueNow(method);
    if (due?.when === 'lost') {
      due.act();
      request.destroy();
      return;
    }
    const onward = http.request({ hostname, port, method, path: url, headers, agent }, (answer) => {
      if (due !== undefined) {
        answer.resume();
        answer.on('end', due.act);
        return;
      }
      response.writeHead(answer.statusCode ?? 500, answer.rawHeaders);
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    request.on('error', () => onward.destroy());
    request.pipe(onward);
  });
  return {
    url: server.url,
    taken: () => {
      const before = Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
      counts = new Map();
      return before;
    },
    atWrite: (left, when, act) => {
      planned = { left, when, act };
    },
    stop: async () => {
      agent.destroy();
      await server.close();
    },
  };
}

function operationOf(method: string, url: string): string {
  const { pathname, searchParams } = new URL(url, 'http://s3');
  const isBucket = pathname.split('/').filter(Boolean).length < 2;
  if (method === 'GET') return isBucket ? 'ListObjectsV2' : 'GetObject';
  if (method === 'PUT') return searchParams.has('partNumber') ? 'UploadPart' : 'PutObject';
  if (method === 'POST')
    return searchParams.has('uploads') ? 'CreateMultipartUpload' : 'CompleteMultipartUpload';
  return method === 'HEAD' ? 'HeadObject' : 'DeleteObject';
}
