/** A public document in JSON. */
const TIMEOUT_MILLISECONDS = 3_000;

/** @throws Error that says what is wrong, with its cause */
export async function readJson(address: string): Promise<unknown> {
  const answer = await fetch(address, { signal: AbortSignal.timeout(TIMEOUT_MILLISECONDS) }).catch(
    (cause: unknown) => {
      throw new Error('it gives no answer', { cause });
    },
  );
  if (!answer.ok) throw new Error(`it answers ${answer.status}`);
  return answer.json().catch((cause: unknown) => {
    throw new Error('its answer is no JSON', { cause });
  });
}
