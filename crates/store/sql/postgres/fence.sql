-- Lets pass whoever may write under this epoch; ends the transaction of everybody else.
SELECT fence($1)
