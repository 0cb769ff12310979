/** The parts of an answer that the operations read. */
import type { Answer } from './transport.ts';

export const bodyText = (answer: Answer): string => Buffer.concat(answer.chunks).toString('utf8');

export function headerOf(answer: Answer, name: string): string {
  const value = answer.headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? '';
}

export const etagOf = (answer: Answer): string => headerOf(answer, 'etag').replaceAll('"', '');
