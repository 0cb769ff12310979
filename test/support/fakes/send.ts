/** A promise around one exchange, for tests; the data path calls the receiver and makes none. */
import type { Answer, Exchange, Transport } from '../../../functions/aws/s3/http-transport.ts';

export const send = (transport: Transport, exchange: Exchange): Promise<Answer> =>
  new Promise((answered, failed) => transport.dispatch(exchange, { answered, failed }));
