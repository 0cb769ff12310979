/** One instance's metadata service, version 2: nothing without a token. On EC2 it answers at 169.254.169.254. */
import { randomUUID } from 'node:crypto';
import { isSecret, serveLocally } from '../access/local-server.ts';

export interface Metadata {
  readonly url: string;
  /** From now on the host reads that EC2 reclaims it, and when. */
  announceEnd(at: Date): void;
  close(): Promise<void>;
}

/** https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-identity-documents.html */
export const IDENTITY_DOCUMENT = '/latest/dynamic/instance-identity/document';

/** facts: by path below meta-data/, such as instance-id; or by the whole path. */
export async function startMetadata(facts: Readonly<Record<string, string>>): Promise<Metadata> {
  const answers = new Map(Object.entries(facts));
  const token = randomUUID();
  const server = await serveLocally((request, response, { pathname }) => {
    if (request.method === 'PUT' && pathname === '/latest/api/token') {
      response.end(token);
      return;
    }
    const found = answers.get(pathname.replace('/latest/meta-data/', ''));
    const isKnown = isSecret(String(request.headers['x-aws-ec2-metadata-token'] ?? ''), token);
    response.statusCode = isKnown ? (found === undefined ? 404 : 200) : 401;
    response.end(isKnown ? found : undefined);
  });
  return {
    url: server.url,
    // https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html
    announceEnd: (at) => {
      const time = `${at.toISOString().slice(0, 19)}Z`;
      answers.set('events/recommendations/rebalance', JSON.stringify({ noticeTime: time }));
      answers.set('spot/instance-action', JSON.stringify({ action: 'terminate', time }));
    },
    close: () => server.close(),
  };
}
