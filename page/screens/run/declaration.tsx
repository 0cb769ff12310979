/** The tab "Declaration": what the run was declared to be, as it was pinned at the close of its batch. */
import { Command } from '../../parts/text.tsx';

interface DeclarationProps {
  readonly declaration: object | undefined;
  readonly pipeline: string;
}

export const Declaration = ({ declaration, pipeline }: DeclarationProps) => (
  <>
    {declaration === undefined ? (
      <p>Its batch is not closed yet: until then it follows the declaration of {pipeline}.</p>
    ) : (
      <pre class="scroll" tabIndex={0} role="region" aria-label="declaration">
        {JSON.stringify(declaration, undefined, 2)}
      </pre>
    )}
    <Command text="npx tidewheel check" />
  </>
);
