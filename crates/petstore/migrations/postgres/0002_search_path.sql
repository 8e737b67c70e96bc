-- The trigger's names mean this schema's, whatever the session's search path is: none is set outside of migrations.
ALTER FUNCTION count_pets() SET search_path FROM CURRENT;
