-- The epoch in force. Read inside the transaction, so that a takeover cannot slip in between.
SELECT epoch FROM meta WHERE id = 1
