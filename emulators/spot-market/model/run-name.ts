/** Attempts of one run differ in what follows the run's name: `<run>-a<attempt>-<salt>`. */
const ATTEMPT = /-a(\d+)-[0-9a-f]{6}$/;

export const runOf = (owner: string): string => owner.replace(ATTEMPT, '');

/** Undefined for a job of another program. */
export function attemptOf(owner: string): number | undefined {
  const attempt = ATTEMPT.exec(owner)?.[1];
  return attempt === undefined ? undefined : Number(attempt);
}
