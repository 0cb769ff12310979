/** What opens under a summary, and is made only then. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';

interface DisclosureProps {
  readonly id: string;
  readonly summary: string;
  readonly class?: string;
  readonly children: () => ComponentChildren;
}

export function Disclosure({ id, summary, children, ...more }: DisclosureProps) {
  const isOpen = useSignal(false);
  return (
    <details
      id={id}
      class={more.class}
      open={isOpen.value}
      onToggle={(event) => {
        isOpen.value = event.currentTarget.open;
      }}
    >
      <summary>{summary}</summary>
      {isOpen.value && children()}
    </details>
  );
}
